//! What a browser keeps of a sign-in, and where it ends.

use greenroom_app::sign_in::oidc::{Pending, own_page};

#[test]
fn a_sign_in_ends_on_an_own_page() {
    for (path, expected) in [
        ("/o/acme/environments?q=a%20b#x", "/o/acme/environments?q=a%20b#x"),
        ("/", "/"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("\\\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nSet-Cookie: x=y", "/"),
        ("/a b", "/"),
        ("/\u{e4}", "/"),
    ] {
        assert_eq!(own_page(path), expected, "{path:?}");
    }
    assert_eq!(own_page(&format!("/{}", "x".repeat(2_000))), "/");
}

#[test]
fn the_cookie_round_trips_and_contains_no_separator() {
    let pending = Pending {
        provider: "example".to_owned(),
        state: "a; b=c".to_owned(),
        nonce: "n,\"".to_owned(),
        verifier: "v-._~".to_owned(),
        return_to: "/o/acme?x=1&y=2".to_owned(),
    };
    let cookie = pending.to_cookie();
    assert!(!cookie.contains([';', ',', ' ', '"', '\\']), "{cookie}");
    assert_eq!(Pending::from_cookie(&cookie), pending);
}

#[test]
fn a_forged_cookie_leads_nowhere_else() {
    assert_eq!(Pending::from_cookie("r=https%3A%2F%2Fevil.example").return_to, "/");
}
