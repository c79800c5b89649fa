//! Header fields that protect people in a browser, on every response.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// The policy of the dashboard's pages: scripts, styles, fonts and requests of this server only, no inline code,
/// no frames, and no text that becomes a script.
pub const DASHBOARD_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'";

/// For responses that are no pages: a browser that shows one loads nothing for it.
pub const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Other sites can't embed a response, share a window with a page, or learn the address of the page that a link
/// was on. Browsers take a response for what its `Content-Type` states.
const EVERYWHERE: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds the fields to a response. A page that has a policy keeps it; HTML without one gets the dashboard's, and so
/// do scripts, because a worker has the policy of its script and not that of the page.
pub fn add(headers: &mut HeaderMap) {
    for (name, value) in EVERYWHERE {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let content_type = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_page = content_type
        .is_some_and(|value| value.starts_with(b"text/html") || value.starts_with(b"text/javascript"));
    let policy = if is_page { DASHBOARD_POLICY } else { DATA_POLICY };
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
}
