//! The OpenAPI document: what the handlers' attributes declare, and what is common to all operations.

use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    ArrayBuilder, Components, Content, HeaderBuilder, HttpMethod, InfoBuilder, ObjectBuilder, OpenApi,
    OpenApiBuilder, Ref, RefOr, Required, ResponseBuilder, Schema, ServerBuilder, Type,
};

use crate::http::examples;
use crate::http::problem::CONTENT_TYPE;

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
                     <API_TOKEN>`. One record is under `data`; lists have `pagination`; errors are RFC 9457 problems, \
                     each with a page at its `type` ([all codes](/docs/errors)). A refusal's `actions` are complete \
                     requests that would help: send `method` to `href` with `body` and `headers` as they are.",
                ))
                .build(),
        )
        .tags(Some(tags()))
        .servers(Some([ServerBuilder::new().url("/api/v1").build()]))
        .components(Some(components))
        .security(Some([SecurityRequirement::new("token", Vec::<String>::new())]))
        .build()
}

/// The document of the complete API, as it is served and as it is committed in `openapi/api.json`.
pub fn document() -> OpenApi {
    crate::http::router::api().into_openapi()
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
        tag("environments", "Claim an environment, hold it as a session, deploy into it, let it go"),
        tag("deployments", "What runs and ran: stages, steps, logs; cancel and retry"),
        tag("pipelines", "Definitions and their versions; stop and resume"),
        tag("events", "What happened, as a list and as a stream"),
        tag("runners", "Programs that carry jobs out, and their pools"),
        tag("identity", "The organization, its members and their tokens"),
        tag("documents", "Schemas that this server publishes"),
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
    ("Retry-After", "Seconds to wait before the next try"),
    (
        "RateLimit",
        "The limit that was met, what is left of it, and in how many seconds there is more: `\"token_rate\";r=0;t=1`",
    ),
    ("RateLimit-Policy", "The limit itself: `\"token_rate\";q=200;w=1` is 200 per second"),
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
        401 => "No valid token",
        403 => "Visible, but not permitted for this token",
        404 => "Not there, or not yours",
        408 => "The body came too slowly",
        409 => "In conflict with the current state: `code` names the conflict, `actions` what to do instead",
        410 => "Removed, because it is older than logs are kept",
        412 => "Changed since you read it",
        413 => "The body is too large",
        415 => "Not JSON",
        416 => "Nothing in that range; `Content-Range` has the total size",
        422 => "Wrong or unknown fields or parameters",
        429 => "More than the token, its organization or the address may send",
        _ => "Temporarily unavailable; try again",
    }
}
