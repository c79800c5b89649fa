//! The address at which browsers reach the server.

use greenroom_app::public_url::{InvalidPublicUrl, OwnOrigins, PublicUrl};

#[test]
fn only_origins_are_accepted() {
    for (text, origin) in [
        ("https://greenroom.example.com", Some("https://greenroom.example.com")),
        ("http://127.0.0.1:7420/", Some("http://127.0.0.1:7420")),
        ("http://[::1]:7420", Some("http://[::1]:7420")),
        ("https://greenroom.example.com:443", None),
        ("https://Greenroom.example.com", None),
        ("https://example.com/greenroom", None),
        ("https://user@example.com", None),
        ("https://example.com?x", None),
        ("ftp://example.com", None),
        ("example.com", None),
        ("https://", None),
        ("", None),
    ] {
        assert_eq!(text.parse::<PublicUrl>().ok().as_ref().map(PublicUrl::origin), origin, "{text}");
    }
}

#[test]
fn own_origins() -> Result<(), InvalidPublicUrl> {
    let public: PublicUrl = "https://greenroom.example.com".parse()?;
    for (listen, own, foreign) in [
        (
            "http://127.0.0.1:7420",
            &["http://127.0.0.1:7420", "http://localhost:7420"] as &[_],
            &["http://127.0.0.1", "http://127.0.0.1:7421", "http://[::1]:7420"] as &[_],
        ),
        (
            "http://0.0.0.0:7420",
            &["http://127.0.0.1:7420", "http://[::1]:7420", "http://localhost:7420"],
            &["http://evil.example:7420", "http://localhost", "https://localhost:7420"],
        ),
        ("http://[::]:7420", &["http://localhost:7420"], &["http://10.0.0.1:7420"]),
        ("http://[::1]", &["http://[::1]", "http://localhost"], &["http://localhost:80"]),
        ("http://10.0.0.1:7420", &["http://10.0.0.1:7420"], &["http://localhost:7420"]),
        (
            "https://127.0.0.1:7420",
            &["https://127.0.0.1:7420", "https://localhost:7420"],
            &["http://127.0.0.1:7420", "https://127.0.0.1"],
        ),
        (
            "https://0.0.0.0",
            &["https://127.0.0.1", "https://localhost"],
            &["https://localhost:443", "http://localhost"],
        ),
    ] {
        let origins = OwnOrigins::new(&public, &listen.parse()?);
        for origin in own.iter().chain(&["https://greenroom.example.com"]) {
            assert!(origins.contains(origin), "{listen}: {origin}");
        }
        for origin in
            foreign.iter().chain(&["https://evil.example", "http://greenroom.example.com", "null", ""])
        {
            assert!(!origins.contains(origin), "{listen}: {origin}");
        }
    }
    Ok(())
}

#[test]
fn with_tls_a_host_has_to_be_that_of_an_own_origin() -> Result<(), InvalidPublicUrl> {
    let public: PublicUrl = "https://greenroom.example.com".parse()?;
    let encrypted = OwnOrigins::new(&public, &"https://127.0.0.1:7420".parse()?);
    for (host, is_wrong) in [
        ("greenroom.example.com", false),
        ("Greenroom.Example.com", false),
        ("greenroom.example.com:443", false),
        ("127.0.0.1:7420", false),
        ("localhost:7420", false),
        ("greenroom.example.com:7420", true),
        ("greenroom.example.com.", true),
        ("qa-1.example.com", true),
        ("evil.example", true),
        ("127.0.0.1", true),
        ("", true),
    ] {
        assert_eq!(encrypted.is_wrong_host(host), is_wrong, "{host}");
    }
    // Behind a proxy, which may send any `Host`.
    let plain = OwnOrigins::new(&public, &"http://127.0.0.1:7420".parse()?);
    assert!(!plain.is_wrong_host("upstream"));
    Ok(())
}
