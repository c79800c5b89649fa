//! URLs of environments: absolute, http or https, and with no other placeholder than `{name}`.

use super::limits;

pub(super) const NAME_PLACEHOLDER: &str = "{name}";
pub(super) const PATTERN: &str = r#"^https?://[^\s"<>\\^`|@]+$"#;

/// Returns what is wrong with a URL, as the rest of a sentence that starts with its name.
pub(super) fn problem(url: &str) -> Option<String> {
    if url.len() > limits::URL_BYTES {
        return Some(format!("is longer than {} characters", limits::URL_BYTES));
    }
    // Replace the placeholder by a valid label, so that the rest can be checked.
    let url = url.replace(NAME_PLACEHOLDER, "name");
    if url.contains(['{', '}']) {
        return Some("has a placeholder other than `{name}`".to_owned());
    }
    let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")) else {
        return Some("must be an absolute address starting with `https://` or `http://`".to_owned());
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some("must not carry a user name or a password".to_owned());
    }
    let is_forbidden =
        |c: char| !c.is_ascii_graphic() || matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '|');
    if let Some(character) = url.chars().find(|c| is_forbidden(*c)) {
        return Some(format!("has a character that an address can't hold: {character:?}"));
    }
    (!is_authority(authority)).then(|| "has no valid host".to_owned())
}

fn is_authority(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let host_is_valid = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let label = |part: &str| {
                !part.is_empty()
                    && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            };
            host.strip_suffix('.').unwrap_or(host).split('.').all(label)
        }
    };
    host_is_valid && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() -> Result<(), regex::Error> {
        let pattern = regex::Regex::new(PATTERN)?;
        for good in [
            "https://example.test",
            "http://localhost:3000/a?b=c#d",
            "https://{name}.example.test/{name}",
            "https://[::1]:8080/",
            "https://10.0.0.1",
        ] {
            assert_eq!(problem(good), None, "{good}");
            assert!(pattern.is_match(good), "{good}");
        }
        for (bad, part) in [
            ("", "absolute"),
            ("example.test", "absolute"),
            ("/a", "absolute"),
            ("ftp://example.test", "absolute"),
            ("javascript:alert(1)", "absolute"),
            ("https://", "host"),
            ("https:///a", "host"),
            ("https://a..b", "host"),
            ("https://a:0", "host"),
            ("https://a:99999", "host"),
            ("https://[x]", "host"),
            ("https://user:pass@a", "password"),
            ("https://a/ b", "character"),
            ("https://ä", "character"),
            ("https://{branch}.a", "placeholder"),
            ("https://{name.a", "placeholder"),
        ] {
            let found = problem(bad).unwrap_or_default();
            assert!(found.contains(part), "{bad}: {found}");
        }
        assert!(problem(&format!("https://a/{}", "b".repeat(limits::URL_BYTES))).is_some());
        Ok(())
    }
}
