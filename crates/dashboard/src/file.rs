//! One file, and the response that contains it.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::preference::{Encoding, contains_etag, preferred};

pub(crate) struct File {
    /// The URL path.
    pub(crate) path: &'static str,
    pub(crate) content_type: &'static str,
    /// A weak tag with the hash of the plain contents: it is the same for all encodings, whose bytes differ.
    pub(crate) etag: &'static str,
    pub(crate) plain: &'static [u8],
    pub(crate) compressed: Option<Compressed>,
}

/// The contents in both encodings that browsers accept.
pub(crate) struct Compressed {
    pub(crate) brotli: &'static [u8],
    pub(crate) gzip: &'static [u8],
}

impl File {
    /// Returns the response to a request with these headers.
    pub(crate) fn response(&self, request: &HeaderMap) -> Response {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(self.cache_control()));
        headers.insert(ETAG, HeaderValue::from_static(self.etag));
        if self.compressed.is_some() {
            headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        }
        if contains_etag(request, self.etag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let (name, contents) = self.contents(request);
        if let Some(name) = name {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        (headers, Body::from(contents)).into_response()
    }

    /// Returns the contents in the encoding that the client prefers, and its name.
    fn contents(&self, request: &HeaderMap) -> (Option<&'static str>, &'static [u8]) {
        let Some(compressed) = &self.compressed else { return (None, self.plain) };
        match preferred(request) {
            Encoding::Brotli => (Some("br"), compressed.brotli),
            Encoding::Gzip => (Some("gzip"), compressed.gzip),
            Encoding::Identity => (None, self.plain),
        }
    }

    /// The names of the files below `/immutable` contain a hash of their contents. Browsers revalidate all others each
    /// time: the page names the files of this build.
    fn cache_control(&self) -> &'static str {
        if self.path.starts_with("/immutable/") { "public, max-age=31536000, immutable" } else { "no-cache" }
    }
}
