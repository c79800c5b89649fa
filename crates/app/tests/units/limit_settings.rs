//! The operator's settings of limits.

use greenroom_app::limits::network;

#[test]
fn a_proxy_is_an_address_or_a_network() {
    for (text, read) in [
        ("10.0.0.0/8", Some("10.0.0.0/8")),
        ("10.1.2.3", Some("10.1.2.3/32")),
        ("fd00::/8", Some("fd00::/8")),
        ("::1", Some("::1/128")),
        ("10.0.0.0/33", None),
        ("proxy", None),
        ("", None),
    ] {
        assert_eq!(network(text).ok().map(|network| network.to_string()).as_deref(), read, "{text}");
    }
}
