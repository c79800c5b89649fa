//! The dashboard's files and their addresses. The files are part of the program, so that a server needs nothing
//! beside it, and the pages always fit its API.

use axum::Router;

/// The addresses at which the page is served. The page reads the address and shows what belongs to it, so an
/// address of a record that does not exist is a page too (`dashboard/src/lib/paths.ts`).
#[cfg(has_dashboard)]
const PAGES: [&str; 7] = ["/", "/o", "/o/{*path}", "/sign-in", "/welcome", "/me", "/dev/ui"];

/// Returns the routes of the dashboard. `None` if the program was built without it.
#[cfg(has_dashboard)]
pub fn router() -> Option<Router> {
    use memory_serve::CacheControl;

    let mut files = memory_serve::load!()
        .index_file(None)
        // Browsers revalidate it each time: it names the files of this build.
        .html_cache_control(CacheControl::NoCache)
        .cache_control(CacheControl::NoCache);
    for address in PAGES {
        files = files.add_alias(address, "/index.html");
    }
    let router = files.into_router();
    Some(router.layer(axum::middleware::from_fn(cache_hashed_files)))
}

/// The names of the files below `/immutable` contain a hash of their content.
#[cfg(has_dashboard)]
async fn cache_hashed_files(
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> axum::response::Response {
    use axum::http::{HeaderValue, header};

    let is_hashed = request.uri().path().starts_with("/immutable/");
    let mut response = next.run(request).await;
    if is_hashed && response.status().is_success() {
        let value = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, value);
    }
    response
}

/// Returns the routes of the dashboard. `None` if the program was built without it.
#[cfg(not(has_dashboard))]
pub fn router() -> Option<Router> {
    None
}
