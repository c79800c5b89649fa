//! `Range` of bytes.

use axum::http::HeaderValue;
use greenroom_server::internals::parse_range;

#[test]
fn valid_ranges_are_parsed() {
    for (text, total, expected) in [
        ("bytes=0-0", 10, Some(0..1)),
        ("bytes=2-5", 10, Some(2..6)),
        ("bytes=2-99", 10, Some(2..10)),
        ("bytes=9-", 10, Some(9..10)),
        ("bytes=-3", 10, Some(7..10)),
        ("bytes=-99", 10, Some(0..10)),
        ("bytes=10-", 10, None),
        ("bytes=10-12", 10, None),
        ("bytes=99999999999999999999-", 10, None),
        ("bytes=-0", 10, None),
        ("bytes=0-", 0, None),
    ] {
        let found = parse_range(&HeaderValue::from_static(text), total).unwrap();
        assert_eq!(found, expected, "{text} of {total}");
    }
}

#[test]
fn invalid_ranges_are_rejected() {
    for text in [
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=5-3",
        "bytes=a-b",
        "bytes=+1-2",
        "lines=1-2",
        "bytes=0-1,4-5",
    ] {
        assert!(parse_range(&HeaderValue::from_static(text), 10).is_err(), "{text}");
    }
}
