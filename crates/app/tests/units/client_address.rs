//! The client address of a request behind proxies.

use greenroom_app::internals::FORWARDED_FOR;
use greenroom_app::limits::{DEADLINE, LimitSettings, Limits, PeerAddress};
use http::HeaderMap;

fn client(trusted: &[&str], peer: &str, forwarded: &[&str]) -> String {
    let trusted_proxy = trusted.iter().map(|network| network.parse().unwrap()).collect();
    let limits = Limits::with(DEADLINE, LimitSettings { trusted_proxy, ..LimitSettings::default() });
    let mut headers = HeaderMap::new();
    for line in forwarded {
        headers.append(FORWARDED_FOR, line.parse().unwrap());
    }
    limits.client_address(Some(PeerAddress(peer.parse().unwrap())), &headers).0.to_string()
}

#[test]
fn without_a_trusted_proxy_the_header_is_ignored() {
    assert_eq!(client(&[], "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
    assert_eq!(client(&["10.0.0.0/8"], "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
}

#[test]
fn the_rightmost_address_that_is_not_a_trusted_proxys_counts() {
    let trusted = ["10.0.0.0/8", "fd00::/8"];
    for (forwarded, expected) in [
        (&["198.51.100.7"][..], "198.51.100.7"),
        (&["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        (&["203.0.113.9", "198.51.100.7, 10.1.1.1"], "198.51.100.7"),
        (&["198.51.100.7:4711, 10.1.1.1"], "198.51.100.7"),
        (&["[2001:db8:1:2:3:4:5:6]:4711"], "2001:db8:1:2::"),
        (&["::ffff:198.51.100.7"], "198.51.100.7"),
        (&["10.3.3.3, fd00::1"], "10.3.3.3"),
        (&["198.51.100.7, unknown, 10.1.1.1"], "10.1.1.1"),
        (&["unknown"], "10.0.0.1"),
        (&[""], "10.0.0.1"),
        (&[], "10.0.0.1"),
    ] {
        assert_eq!(client(&trusted, "10.0.0.1", forwarded), expected, "{forwarded:?}");
    }
    assert_eq!(client(&trusted, "::ffff:10.0.0.1", &["198.51.100.7"]), "198.51.100.7");
}
