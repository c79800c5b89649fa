//! `Prefer: wait=N`.

use std::time::Duration;

use axum::http::HeaderMap;
use greenroom_server::internals::Prefer;

#[test]
fn wait_is_parsed_and_capped() {
    for (text, seconds) in [
        ("wait=5", Some(5)),
        ("Wait = \"5\"", Some(5)),
        ("respond-async, wait=5; foo=bar", Some(5)),
        ("wait=31", Some(30)),
        ("wait=99999999999", Some(30)),
        ("wait=0", None),
        ("wait=-1", None),
        ("wait", None),
        ("waits=5", None),
        ("", None),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("prefer", text.parse().unwrap());
        assert_eq!(Prefer::from_headers(&headers).wait, seconds.map(Duration::from_secs), "{text}");
    }
    assert_eq!(Prefer::from_headers(&HeaderMap::new()).wait, None);
}
