//! Header fields that protect people in a browser.

use axum::http::{HeaderMap, HeaderValue, header};
use greenroom_server::internals::security_headers::{DASHBOARD_POLICY, DATA_POLICY, add};

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
