//! Header fields that protect people in a browser, on every response.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// The policy of the dashboard's pages: scripts, styles, fonts and requests of this server only, no inline code,
/// no frames, and no text that becomes a script.
pub const DASHBOARD_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'";

/// For responses that are no pages: a browser that shows one loads nothing for it.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

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

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(content_type: &'static str, own: Option<&'static str>) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(own) = own {
            headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(own));
        }
        add(&mut headers);
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned()
    }

    #[test]
    fn every_response_has_a_policy() {
        assert_eq!(policy("text/html; charset=utf-8", None), DASHBOARD_POLICY);
        assert_eq!(policy("text/javascript", None), DASHBOARD_POLICY);
        assert_eq!(policy("application/json", None), DATA_POLICY);
        assert_eq!(policy("text/html", Some("default-src 'self'")), "default-src 'self'");
    }

    #[test]
    fn the_policy_of_the_dashboard_allows_nothing_inline_and_no_other_origin() {
        for forbidden in ["unsafe", "http", "*", "blob:"] {
            assert!(!DASHBOARD_POLICY.contains(forbidden), "{forbidden}");
        }
        for directive in ["frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"] {
            assert!(DASHBOARD_POLICY.contains(directive), "{directive}");
        }
    }
}
