use super::*;
use crate::service_address::InvalidServiceAddress;

fn repository(address: &str) -> Option<String> {
    ForgeRepository::parse(address).map(|found| found.to_string())
}

#[test]
fn every_spelling_of_a_repository_is_found() {
    for address in [
        "https://github.com/acme/shop",
        "https://github.com/acme/shop.git",
        "https://github.com/acme/shop/",
        "https://GitHub.com/acme/shop",
        "https://github.com:443/acme/shop",
        "ssh://git@github.com/acme/shop.git",
        "ssh://git@github.com:2222/acme/shop.git",
        "git@github.com:acme/shop.git",
        "git@github.com:/acme/shop.git",
        "github.com:acme/shop",
    ] {
        assert_eq!(repository(address).as_deref(), Some("github.com/acme/shop"), "{address}");
    }
    assert_eq!(repository("https://github.com/acme/.github").as_deref(), Some("github.com/acme/.github"));
    assert_eq!(
        repository("https://git.test:8443/Acme/a.b_c-d").as_deref(),
        Some("git.test:8443/Acme/a.b_c-d")
    );
}

/// The token of a forge must not be used for a repository that only looks like one of its own.
#[test]
fn what_looks_like_another_repository_is_none_of_a_forge() {
    for address in [
        "https://github.com.evil.test/acme/shop",
        "https://evil.test/github.com/acme/shop",
        "https://github.com@evil.test/acme/shop",
        "https://evil.test@github.com/acme/shop",
        "https://evil.test:x@github.com/acme/shop",
        "https://github.com\\@evil.test/acme/shop",
        "https://evil.test\\.github.com/acme/shop",
        "https://evil.test#@github.com/acme/shop",
        "https://evil.test?@github.com/acme/shop",
        "https://evil.test/?x=https://github.com/acme/shop",
        "https://github.com./acme/shop",
        "https://github.com:8443/acme/shop",
        "https://gіthub.com/acme/shop",
        "https://github。com/acme/shop",
        "https://github.com/acme/../evil/shop",
        "https://github.com/acme/./shop",
        "https://github.com/acme//shop",
        "https://github.com//acme/shop",
        "https://github.com/acme/%2e%2e/evil/shop",
        "https://github.com/acme%2Fshop",
        "https://github.com/acme/shop/pulls",
        "https://github.com/acme/..",
        "https://github.com/acme",
        "https://github.com/acme/.git",
        "https://github.com/acme/shop\n",
        " https://github.com/acme/shop",
        "ssh://git@evil.test/github.com/acme/shop",
        "git@evil.test:github.com/acme/shop",
        "git:secret@github.com:acme/shop",
        "file://github.com/acme/shop",
        "git://github.com/acme/shop",
        "ext::github.com/acme/shop",
        "/srv/github.com/acme/shop",
        "acme/shop",
        "",
    ] {
        let found = repository(address);
        let pattern = RepositoryPattern::new("github.com").unwrap();
        let matched = ForgeRepository::parse(address).is_some_and(|found| pattern.matches(found.path()));
        assert!(!matched, "{address}: {found:?}");
    }
}

#[test]
fn the_most_specific_pattern_decides() {
    let patterns = |texts: &[&str]| texts.iter().map(|text| RepositoryPattern::new(text).unwrap()).collect();
    let forges: [(&str, Vec<RepositoryPattern>); 5] = [
        ("everything", patterns(&["github.com"])),
        ("acme", patterns(&["codeberg.org", "github.com/Acme"])),
        ("shop", patterns(&["github.com/acme/shop"])),
        ("second", patterns(&["github.com/acme"])),
        ("local", patterns(&["127.0.0.1:3000"])),
    ];
    let serving = |address: &str| {
        let found = ForgeRepository::parse(address).unwrap();
        serving(forges.iter().map(|(name, patterns)| (*name, patterns.as_slice())), &found)
    };
    for (address, expected) in [
        ("https://github.com/ACME/Shop.git", Some("shop")),
        ("git@github.com:acme/web", Some("acme")),
        ("https://github.com/acme2/shop", Some("everything")),
        ("https://codeberg.org/a/b", Some("acme")),
        ("http://127.0.0.1:3000/a/b", Some("local")),
        ("http://127.0.0.1:3001/a/b", None),
        ("https://gitlab.com/acme/shop", None),
    ] {
        assert_eq!(serving(address), expected, "{address}");
    }
}

#[test]
fn patterns_have_one_form() {
    for good in ["github.com", "github.com/acme", "GitHub.com/Acme/Shop", "git.test:8443", "localhost"] {
        assert_eq!(pattern(good).unwrap().as_str(), good.to_lowercase());
    }
    for bad in [
        "",
        "/",
        "github.com/",
        "/acme",
        "https://github.com",
        "github.com//shop",
        "github.com/acme//x",
        "github.com/*",
        "*",
        "*.github.com",
        "github.com/acme/..",
        "github.com/acme/shop.git",
        "github.com:0",
        "github.com:99999",
        "github.com:x",
        "-github.com",
        "github..com",
        "user@github.com",
        "gіthub.com",
    ] {
        assert_eq!(pattern(bad), Err(InvalidPattern::Form), "{bad}");
    }
    assert_eq!(pattern("github.com/acme/shop/x"), Err(InvalidPattern::TooDeep));
}

#[test]
fn an_address_is_that_of_the_api() {
    use ForgeKind::{Forgejo, Github};
    use InvalidForgeAddress as Invalid;
    use InvalidServiceAddress as Service;
    for (kind, good, pattern) in [
        (Github, "https://api.github.com", "github.com"),
        (Github, "https://api.github.com/", "github.com"),
        (Github, "https://api.octocorp.ghe.com", "octocorp.ghe.com"),
        (Github, "https://ghe.example.com/api/v3", "ghe.example.com"),
        (Github, "http://127.0.0.1:3000", "127.0.0.1:3000"),
        (Forgejo, "https://codeberg.org/api/v1", "codeberg.org"),
        (Forgejo, "https://git.example.com:8443/api/v1/", "git.example.com:8443"),
        (Forgejo, "http://127.0.0.1:3000/api/v1", "127.0.0.1:3000"),
    ] {
        let address = ForgeAddress::new(kind, good).unwrap();
        assert_eq!(address.as_str(), good.trim_end_matches('/'));
        assert_eq!(address.default_pattern().unwrap().as_str(), pattern, "{good}");
    }
    for (kind, bad, expected) in [
        (Github, "https://github.com", Invalid::Github),
        (Github, "https://github.com/acme/shop", Invalid::Github),
        (Github, "https://ghe.example.com/api/v4", Invalid::Github),
        (Forgejo, "https://codeberg.org", Invalid::Forgejo),
        (Forgejo, "https://codeberg.org/api/v1/repos", Invalid::Forgejo),
        (Github, "", Invalid::Address(Service::Text)),
        (Github, "https://api.github.com/ x", Invalid::Address(Service::Text)),
        (Github, "http://api.github.com", Invalid::Address(Service::Address)),
        (Github, "ftp://api.github.com", Invalid::Address(Service::Address)),
        (Github, "https://user@api.github.com", Invalid::Address(Service::Address)),
        (Github, "https://api.github.com?x", Invalid::Address(Service::Address)),
        (Github, "https://api.github.com#x", Invalid::Address(Service::Address)),
        (Github, "https:\\\\api.github.com", Invalid::Address(Service::Address)),
        (Github, "https:api.github.com", Invalid::Address(Service::Address)),
        (Github, "https://api.github.com:0", Invalid::Address(Service::Address)),
        (Forgejo, "https://a.test/x/../api/v1", Invalid::Address(Service::Address)),
        (Forgejo, "https://a.test/%2e%2e/api/v1", Invalid::Address(Service::Address)),
        (Github, "http://0x7f.1", Invalid::Address(Service::Address)),
        (Github, "api.github.com", Invalid::Address(Service::Address)),
    ] {
        assert_eq!(ForgeAddress::new(kind, bad), Err(expected), "{bad}");
    }
}

#[test]
fn a_token_fits_into_a_header() {
    assert!(is_token("ghp_x") && is_token(&"x".repeat(4096)));
    for bad in ["", "a b", "a\nb", "a\u{0}", "ä", &"x".repeat(4097)] {
        assert!(!is_token(bad));
    }
}
