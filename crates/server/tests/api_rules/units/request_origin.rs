//! Which site a browser's request comes from.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use greenroom_app::public_url::{OwnOrigins, PublicUrl};
use greenroom_server::internals::{RequestOrigin, SEC_FETCH_SITE, cookie_counts};

fn own() -> OwnOrigins {
    let parse = |url: &str| -> PublicUrl { url.parse().unwrap() };
    OwnOrigins::new(&parse("https://greenroom.example.com"), &parse("http://10.0.0.1:7420"))
}

fn of(fields: &[(&'static str, &'static str)]) -> RequestOrigin {
    let fields =
        fields.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    let mut headers: HeaderMap = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_static("10.0.0.1:7420"));
    fields.for_each(|(name, value)| {
        if name == header::HOST {
            headers.remove(&name);
        }
        headers.append(name, value);
    });
    RequestOrigin::of(&headers, &own())
}

#[test]
fn only_own_pages_are_own() {
    use RequestOrigin::{Foreign, Own, Unknown};
    for (fields, expected) in [
        (&[] as &[_], Unknown),
        (&[("origin", "https://greenroom.example.com")], Own),
        (&[("origin", "https://greenroom.example.com"), ("sec-fetch-site", "same-origin")], Own),
        (&[("sec-fetch-site", "same-origin")], Own),
        (&[("sec-fetch-site", "none")], Own),
        (&[("sec-fetch-site", "same-site")], Foreign),
        (&[("sec-fetch-site", "cross-site")], Foreign),
        (&[("sec-fetch-site", "same-site"), ("origin", "http://10.0.0.1:7420")], Foreign),
        (&[("origin", "http://10.0.0.1:7420")], Own),
        (&[("origin", "http://10.0.0.1:7421")], Foreign),
        (&[("origin", "https://evil.example")], Foreign),
        // A name of another site that leads to this server: `Host` and `Origin` are alike.
        (&[("origin", "http://evil.example"), ("host", "evil.example")], Foreign),
        (
            &[("origin", "http://evil.example"), ("host", "evil.example"), ("sec-fetch-site", "same-origin")],
            Foreign,
        ),
        (&[("origin", "https://greenroom.example.com"), ("sec-fetch-site", "cross-site")], Foreign),
        (&[("origin", "https://greenroom.example.com.evil.example")], Foreign),
        (&[("origin", "null")], Foreign),
        (&[("origin", "")], Foreign),
        (&[("origin", "https://greenroom.example.com"), ("origin", "https://evil.example")], Foreign),
        (&[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], Foreign),
    ] {
        assert_eq!(of(fields), expected, "{fields:?}");
    }
}

#[test]
fn a_change_needs_an_own_page_and_a_foreign_read_loses_its_cookie() {
    let counts = |method: Method, site: Option<&'static str>| {
        let mut headers = HeaderMap::new();
        if let Some(site) = site {
            headers.insert(SEC_FETCH_SITE, HeaderValue::from_static(site));
        }
        cookie_counts(&method, &headers, &own()).ok()
    };
    assert_eq!(counts(Method::GET, Some("cross-site")), Some(false));
    assert_eq!(counts(Method::GET, None), Some(true));
    assert_eq!(counts(Method::POST, Some("same-origin")), Some(true));
    assert_eq!(counts(Method::POST, Some("same-site")), None);
    assert_eq!(counts(Method::DELETE, None), None);
}
