//! The OpenAPI document: what the handlers' attributes declare, and what is common to all operations.

use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    Components, Header, HeaderBuilder, InfoBuilder, ObjectBuilder, OpenApi, OpenApiBuilder, RefOr, Required,
    ServerBuilder, Type,
};

use crate::http::rules::{cookie, examples};

pub fn base() -> OpenApi {
    let mut components = Components::new();
    let bearer =
        SecurityScheme::Http(Http::builder().scheme(HttpAuthScheme::Bearer).bearer_format("grn_…").build());
    components.add_security_scheme("token", bearer);
    let cookie = ApiKey::Cookie(ApiKeyValue::with_description(
        cookie::SESSION,
        "The session of a person who is signed in to the dashboard. It counts as a token of kind `user` with all \
         scopes, in every organization of the person, and only for requests of the dashboard's own pages.",
    ));
    components.add_security_scheme("browser", SecurityScheme::ApiKey(cookie));
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Greenroom")
                .version("1")
                .description(Some(
                    "Continuous delivery with claimable environments. Every request carries `Authorization: Bearer \
                     <API_TOKEN>`. A response contains its record or list under `data`; lists also have \
                     `pagination`. Errors are RFC 9457 problems, each with a page at its `type` \
                     ([all codes](/docs/errors)). The `actions` of a problem are complete requests that can be sent \
                     instead: send `method` to `href` with `body` and `headers` unchanged.",
                ))
                .build(),
        )
        .tags(Some(tags()))
        .servers(Some([ServerBuilder::new().url("/api/v1").build()]))
        .components(Some(components))
        .security(Some(["token", "browser"].map(|name| SecurityRequirement::new(name, Vec::<String>::new()))))
        .build()
}

/// Adds what is common to all operations: headers of responses, and examples.
pub fn complete(mut document: OpenApi) -> OpenApi {
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            complete_operation(operation);
            examples::complete_path(operation);
        }
    }
    if let Some(components) = &mut document.components {
        examples::complete_schemas(components);
    }
    document
}

/// The groups of operations, in the order of the reference.
fn tags() -> Vec<Tag> {
    let tag = |name: &str, text: &str| TagBuilder::new().name(name).description(Some(text)).build();
    vec![
        tag("environments", "Claim an environment, hold it as a session, deploy to it, and release it"),
        tag("failures", "Find out why stages have failed, and what is known of failures like them"),
        tag("deployments", "View deployments with their stages, steps and logs; cancel and retry them"),
        tag("pipelines", "Manage pipelines and the versions of their definitions; stop and resume pipelines"),
        tag("secrets", "Manage the secrets that steps get, their versions, and who has read them"),
        tag("approvals", "Vote on what waits for an approval, and override the gates of a stage"),
        tag("freezes", "Manage the times at which no stage begins in lasting environments"),
        tag("step-registries", "Manage the registries that publish steps, their steps and versions"),
        tag("forges", "Connect the forges on which pull requests are opened"),
        tag("analysis-settings", "Choose the model that explains failures, and limit its use"),
        tag("events", "Read events as a list or as a stream"),
        tag("runners", "Manage runners, which are the programs that run jobs, and their pools"),
        tag(
            "identity",
            "Manage the organization, its members, groups and service accounts, and their tokens",
        ),
        tag("sign-in", "Sign in to the dashboard with a browser, and out again"),
        tag("documents", "Read the schemas that this server publishes"),
    ]
}

fn complete_operation(operation: &mut Operation) {
    let id = || HeaderBuilder::new().schema(Some(ObjectBuilder::new().schema_type(Type::String))).build();
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response {
            // OpenAPI requires a description for every response.
            if response.description.is_empty() {
                response.description = operation.summary.clone().unwrap_or_default();
            }
            response.headers.insert("X-Request-Id".to_owned(), id().into());
        }
    }
    let takes_key = operation
        .parameters
        .iter()
        .flatten()
        .any(|parameter| matches!(parameter, RefOr::T(parameter) if parameter.name == "Idempotency-Key"));
    let successes = operation.responses.responses.iter_mut().filter(|(status, _)| status.starts_with('2'));
    for (_, response) in successes.filter(|_| takes_key) {
        if let RefOr::T(response) = response {
            let text = "`true` if the request was sent before with this `Idempotency-Key`, and has not taken effect again";
            response.headers.insert("Idempotency-Replayed".to_owned(), described(text).into());
        }
    }
    if let Some(RefOr::T(limited)) = operation.responses.responses.get_mut("429") {
        for (name, description) in RATE_LIMIT_HEADERS {
            limited.headers.insert(name.to_owned(), described(description).into());
        }
    }
}

fn described(text: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(Type::String);
    HeaderBuilder::new().schema(Some(schema)).description(Some(text)).build()
}

const RATE_LIMIT_HEADERS: [(&str, &str); 3] = [
    ("Retry-After", "The number of seconds to wait before the next request"),
    (
        "RateLimit",
        "The limit that was reached, what is left of it (`r`), and in how many seconds there is more (`t`): \
         `\"token_rate\";r=0;t=1`",
    ),
    (
        "RateLimit-Policy",
        "The limit itself, for example `\"token_rate\";q=200;w=1` for 200 requests per second",
    ),
];

/// An optional header, for the extractors that read one.
pub fn header(name: &str, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}
