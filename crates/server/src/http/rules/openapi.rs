//! The OpenAPI document: what the handlers' attributes declare, and what is common to all operations.

use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    ArrayBuilder, Components, Content, HeaderBuilder, HttpMethod, InfoBuilder, ObjectBuilder, OpenApi,
    OpenApiBuilder, Ref, RefOr, Required, ResponseBuilder, Schema, ServerBuilder, Type,
};

use crate::http::rules::examples;
use crate::http::rules::problem::CONTENT_TYPE;

pub fn base() -> OpenApi {
    let mut components = Components::new();
    let bearer =
        SecurityScheme::Http(Http::builder().scheme(HttpAuthScheme::Bearer).bearer_format("grn_…").build());
    components.add_security_scheme("token", bearer);
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
        .security(Some([SecurityRequirement::new("token", Vec::<String>::new())]))
        .build()
}

/// Adds what is common to all operations: problem responses, headers and examples.
pub fn complete(mut document: OpenApi) -> OpenApi {
    for item in document.paths.paths.values_mut() {
        let operations = [
            (HttpMethod::Get, &mut item.get),
            (HttpMethod::Put, &mut item.put),
            (HttpMethod::Post, &mut item.post),
            (HttpMethod::Delete, &mut item.delete),
            (HttpMethod::Patch, &mut item.patch),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                complete_operation(&method, operation);
                examples::complete_path(operation);
            }
        }
    }
    if let Some(components) = &mut document.components {
        examples::complete_schemas(components);
        describe_actions(components);
    }
    document
}

/// Problem extensions differ by code. `actions` is in the schema because programs follow it.
fn describe_actions(components: &mut Components) {
    if let Some(RefOr::T(Schema::Object(problem))) = components.schemas.get_mut("Problem") {
        let actions = ArrayBuilder::new()
            .items(Ref::from_schema_name("SuggestedRequest"))
            .description(Some("Requests that this token may send instead, if there are any."));
        problem.properties.insert("actions".to_owned(), actions.build().into());
    }
}

/// The groups of operations, in the order of the reference.
fn tags() -> Vec<Tag> {
    let tag = |name: &str, text: &str| TagBuilder::new().name(name).description(Some(text)).build();
    vec![
        tag("environments", "Claim an environment, hold it as a session, deploy to it, and release it"),
        tag("deployments", "View deployments with their stages, steps and logs; cancel and retry them"),
        tag("pipelines", "Manage pipelines and the versions of their definitions; stop and resume pipelines"),
        tag("events", "Read events as a list or as a stream"),
        tag("runners", "Manage runners, which are the programs that run jobs, and their pools"),
        tag("identity", "Manage the organization, its members and their tokens"),
        tag("documents", "Read the schemas that this server publishes"),
    ]
}

fn complete_operation(method: &HttpMethod, operation: &mut Operation) {
    let is_public = operation.security.is_some();
    let mut statuses = vec![429, 503];
    if !is_public {
        statuses.extend([401, 403, 404, 422]);
    }
    let is_mutation = !matches!(method, HttpMethod::Get);
    if is_mutation {
        statuses.extend([400, 409]);
    }
    if has_header(operation, "If-Match") {
        statuses.push(412);
    }
    if has_header(operation, "Last-Event-ID") {
        statuses.push(400);
    }
    if has_header(operation, "Range") {
        statuses.extend([400, 416]);
    }
    if operation.operation_id.as_deref().is_some_and(|id| id.ends_with("_log")) {
        statuses.push(410);
    }
    if operation.request_body.is_some() {
        statuses.extend([408, 413, 415]);
    }
    statuses.sort_unstable();
    for status in statuses {
        let problem = Content::new(Some(Ref::from_schema_name("Problem")));
        let response =
            ResponseBuilder::new().description(describe(status)).content(CONTENT_TYPE, problem).build();
        operation.responses.responses.entry(status.to_string()).or_insert(RefOr::T(response));
    }
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
    if let Some(RefOr::T(limited)) = operation.responses.responses.get_mut("429") {
        for (name, description) in RATE_LIMIT_HEADERS {
            let schema = ObjectBuilder::new().schema_type(Type::String);
            let header = HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build();
            limited.headers.insert(name.to_owned(), header.into());
        }
    }
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

fn has_header(operation: &Operation, name: &str) -> bool {
    operation.parameters.iter().flatten().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.name == name,
        RefOr::Ref(_) => false,
    })
}

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

fn describe(status: u16) -> &'static str {
    match status {
        400 => "The body is not JSON, or a header can't be read",
        401 => "The request has no valid token",
        403 => "The record is visible to this token, but the request is not permitted",
        404 => "The record does not exist, or is not visible to this token",
        408 => "The body was sent too slowly",
        409 => {
            "The request conflicts with the current state. `code` names the conflict, and `actions` \
             suggests other requests"
        }
        410 => "The log was deleted because its retention time was over",
        412 => "The record has changed since you read it",
        413 => "The body is too large",
        415 => "The body's content type is not JSON",
        416 => "The log has no bytes in that range. `Content-Range` contains the total size",
        422 => "Fields or parameters are wrong or unknown",
        429 => "The token, its organization or the IP address has reached its request limit",
        _ => "The server is temporarily unavailable. Try again later",
    }
}
