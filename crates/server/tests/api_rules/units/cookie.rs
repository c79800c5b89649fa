//! Cookies of browser sessions.

use axum::http::{HeaderMap, HeaderValue, header};
use greenroom_server::internals::cookie::{SESSION, clear_session, set_session, value};

fn headers(fields: &[&str]) -> HeaderMap {
    fields.iter().map(|field| (header::COOKIE, HeaderValue::from_str(field).unwrap())).collect()
}

#[test]
fn one_cookie_of_the_name_counts_and_two_do_not() {
    for (fields, expected) in [
        (&["__Host-greenroom=a"] as &[&str], Some("a")),
        (&["x=1; __Host-greenroom=a; y=2"], Some("a")),
        (&["x=1", "__Host-greenroom=a"], Some("a")),
        (&["__Host-greenroom=a; __Host-greenroom=b"], None),
        (&["__Host-greenroom=a", "__Host-greenroom=b"], None),
        (&["__host-greenroom=a"], None),
        (&["greenroom=a"], None),
        (&[], None),
    ] {
        assert_eq!(value(&headers(fields), SESSION), expected, "{fields:?}");
    }
}

#[test]
fn the_cookie_has_all_attributes_that_its_prefix_requires() {
    let field = set_session("ab").to_str().unwrap().to_owned();
    assert_eq!(field, "__Host-greenroom=ab; Path=/; Max-Age=1209600; Secure; HttpOnly; SameSite=Strict");
    assert!(clear_session().to_str().unwrap().contains("Max-Age=0"));
}
