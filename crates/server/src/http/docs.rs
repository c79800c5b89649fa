//! HTML pages beside the dashboard: the API reference, and one page per error code. All assets are embedded in
//! this binary.

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use greenroom_app::failure::{Code, Failure};
use pulldown_cmark::{Options, Parser, html};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::http::rules::problem::problem_response;

const STYLE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
    <style>:root{color-scheme:light dark}body{font:1rem/1.6 system-ui,sans-serif;max-width:46rem;margin:3rem auto;\
    padding:0 1.25rem}h1{font-size:1.6rem}code{font:.92em ui-monospace,monospace}pre{overflow-x:auto;padding:.8rem;\
    border:1px solid #8886;border-radius:.4rem;white-space:pre-wrap;overflow-wrap:anywhere}nav{margin-bottom:2rem}\
    nav a{margin-right:1.2rem}a{color:#0a7d4f}@media(prefers-color-scheme:dark){a{color:#5fd3a2}}\
    table{border-collapse:collapse}td,th{border:1px solid #8886;padding:.3rem .6rem;text-align:left}</style>";

const NAVIGATION: &str = "<nav><a href=\"/\">Greenroom</a><a href=\"/docs/\">API</a><a href=\"/docs/errors\">Error codes</a></nav>";

/// Larger than Swagger UI's HTML page.
const MAX_PAGE_BYTES: usize = 1 << 20;

pub fn router() -> Router {
    // Swagger UI must not send our document to its online validator.
    let config = Config::from("/api/v1/openapi.json")
        .validator_url("none")
        .try_it_out_enabled(true)
        // Hide the input field for the URL of another document.
        .use_base_layout()
        .default_models_expand_depth(-1);
    let reference = Router::from(SwaggerUi::new("/docs").config(config)).layer(map_response(reference_page));
    Router::new()
        .route("/docs/errors", get(error_index))
        .route("/docs/errors/{code}", get(error_page))
        .merge(reference)
}

/// Sets our title on Swagger UI's page, and replaces its `404` with an HTML page.
async fn reference_page(response: Response) -> Response {
    if response.status() == StatusCode::NOT_FOUND {
        let text = "# There is no such page\n\nThe API, operation by operation, is at [/docs/](/docs/).\n";
        return (StatusCode::NOT_FOUND, page("Not found", text)).into_response();
    }
    let content_type = response.headers().get(header::CONTENT_TYPE);
    if !content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/html")) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_PAGE_BYTES).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let text = String::from_utf8_lossy(&bytes)
        .replace("<title>Swagger UI</title>", "<title>Greenroom: the API</title>");
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, text.into())
}

/// The page at `/` of a program that was built without the dashboard.
pub fn front_page() -> Router {
    Router::new().route(
        "/",
        get(async || {
            page(
                "Greenroom",
                "# Greenroom\n\nThe server is running. This program was built without the dashboard: run \
             `cargo xtask ui build`, then build it again.\n\n- [The API, operation by operation](/docs/)\n\
             - [What error codes mean](/docs/errors)\n- [OpenAPI document](/api/v1/openapi.json)\n\
             - [JSON Schema of pipeline definitions](/api/v1/schemas/pipeline-definition.json)\n",
            )
        }),
    )
}

/// All codes with status and meaning, sorted by status.
async fn error_index() -> Html<String> {
    let mut codes = Code::ALL.to_vec();
    codes.sort_unstable_by_key(|code| (code.status(), code.name()));
    let mut text = String::from(
        "# Error codes\n\nEach problem that the API answers with carries one of these as its `code`.\n\n\
         | Status | Code | Meaning |\n|---|---|---|\n",
    );
    for code in codes {
        let (status, name, meaning) = (code.status(), code.name(), meaning(code.page()));
        text += &format!("| {status} | [`{name}`](/docs/errors/{name}) | {meaning} |\n");
    }
    page("Error codes", &text)
}

/// Returns the first sentence of a code's page after its status.
pub fn meaning(page: &str) -> String {
    let paragraph =
        page.lines().skip_while(|line| !line.starts_with("**Status")).take_while(|line| !line.is_empty());
    let paragraph = paragraph.collect::<Vec<_>>().join(" ");
    let text = paragraph.split_once(".** ").map_or("", |(_, text)| text);
    text.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned()
}

async fn error_page(Path(code): Path<String>) -> Response {
    match Code::ALL.iter().find(|known| known.name() == code) {
        Some(code) => page(code.name(), code.page()).into_response(),
        None => problem_response(Failure::not_found()),
    }
}

fn page(title: &str, markdown: &str) -> Html<String> {
    let mut out = format!("{STYLE}<title>{title}</title><body>{NAVIGATION}");
    html::push_html(&mut out, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    Html(out)
}

/// No content from other origins is loaded, and no page is framed. Swagger UI needs inline styles.
pub const CONTENT_SECURITY_POLICY: (header::HeaderName, &str) = (
    header::CONTENT_SECURITY_POLICY,
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
);
