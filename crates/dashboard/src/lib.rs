//! The dashboard's files and their addresses. The files are part of the program, so that a server needs nothing
//! beside it, and the pages always fit its API.

mod file;
mod preference;

use std::future::ready;

use axum::Router;
use axum::http::header::{ACCEPT, IF_NONE_MATCH};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::get;

use crate::file::File;
pub use crate::preference::accepts_gzip;

/// The addresses at which the page is served. The page reads the address and shows what belongs to it, so an
/// address of a record that does not exist is a page too (`dashboard/src/lib/paths.ts`).
const PAGES: [&str; 8] = ["/", "/o", "/o/{*path}", "/sign-in", "/welcome", "/setup", "/me", "/dev/ui"];

const PAGE_FILE: &str = "/index.html";

/// Empty in a program that was built without the dashboard. Written by `build.rs`.
static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Returns the routes of the dashboard. `None` if the program was built without it.
pub fn router() -> Option<Router> {
    (!FILES.is_empty()).then(|| routes(FILES))
}

fn routes(files: &'static [File]) -> Router {
    let mut router = Router::new();
    for file in files {
        let respond = get(move |headers: HeaderMap| ready(file.response(&headers)));
        let pages = PAGES.iter().filter(|_| file.path == PAGE_FILE);
        for address in pages.chain([&file.path]) {
            router = router.route(address, respond.clone());
        }
    }
    router
}

/// Returns the page, with the status 404, for a browser that has opened an address at which there is nothing. `None` for other
/// clients, and if the program was built without the dashboard.
pub fn missing_page(method: &Method, headers: &HeaderMap) -> Option<Response> {
    missing_page_of(FILES, method, headers)
}

fn missing_page_of(files: &'static [File], method: &Method, headers: &HeaderMap) -> Option<Response> {
    let is_browser = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(|range| range.trim_start().starts_with("text/html")));
    let page = files.iter().find(|file| file.path == PAGE_FILE)?;
    if !is_browser || (method != Method::GET && method != Method::HEAD) {
        return None;
    }
    let mut headers = headers.clone();
    // The page that a browser has may be that of another address, whose status is 200.
    headers.remove(IF_NONE_MATCH);
    let mut response = page.response(&headers);
    *response.status_mut() = StatusCode::NOT_FOUND;
    Some(response)
}

#[cfg(test)]
mod tests;
