use super::*;

#[test]
fn statuses() {
    use RegistryStatus::*;
    for (status, synced, with_problems, enabled) in [
        (Active, Active, Degraded, Active),
        (Degraded, Active, Degraded, Degraded),
        (Disabled, Disabled, Disabled, Active),
    ] {
        assert_eq!(status.after_sync(false), synced);
        assert_eq!(status.after_sync(true), with_problems);
        assert_eq!(status.with_disabled(false), enabled);
        assert_eq!(status.with_disabled(true), Disabled);
    }
}

#[test]
fn a_registry_has_an_https_address() {
    for good in [
        "https://git.example.com/acme/steps.git",
        "https://git.example.com:8443/steps",
        "http://127.0.0.1:9/steps.git",
        "http://localhost:9/steps.git",
        "http://[::1]:9/steps",
    ] {
        assert_eq!(RegistryUrl::new(good).map(|url| url.to_string()), Ok(good.to_owned()));
    }
    use InvalidRegistryUrl::*;
    let long = format!("https://a.example/{}", "a".repeat(300));
    for (bad, reason) in [
        ("", Text),
        (" https://a.example/b", Text),
        ("https://a.example/ä", Text),
        ("https://a.example/b\n", Text),
        (long.as_str(), Text),
        ("a.example/b", Address),
        ("git@a.example:b", Address),
        ("ssh://a.example/b", Address),
        ("git://a.example/b", Address),
        ("file:///b", Address),
        ("ext::sh -c id", Text),
        ("ext::id", Address),
        ("--upload-pack=id", Address),
        ("http://a.example/b", Address),
        ("http://localhost.a.example/b", Address),
        ("HTTPS://a.example/b", Address),
        ("https:a.example/b", Address),
        ("https:\\\\a.example\\b", Address),
        ("https://a.example", Address),
        ("https://a.example//", Address),
        ("https://a.example:0/b", Address),
        ("https://user@a.example/b", Parts),
        ("https://user:password@a.example/b", Parts),
        ("https://a.example@127.0.0.1/b", Parts),
        ("https://a.example/b?c", Parts),
        ("https://a.example/b#c", Parts),
    ] {
        assert_eq!(RegistryUrl::new(bad), Err(reason), "{bad}");
    }
}

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";

#[test]
fn a_signer_is_a_name_with_a_public_key() {
    let signer = AllowedSigner::new(&format!(" alice@example.com  {KEY} a comment ")).unwrap();
    assert_eq!(signer.as_str(), format!("alice@example.com {KEY} a comment"));
    assert_eq!((signer.name(), signer.options().count()), ("alice@example.com", 0));
    let key = KEY.split_once(' ').unwrap();
    assert_eq!((signer.key_type(), signer.key()), key);
    let limited = format!("a valid-after=20260101,valid-before=\"20300101Z\" {KEY} b=c");
    let limited = AllowedSigner::new(&limited).unwrap();
    let options: Vec<_> = limited.options().collect();
    assert_eq!(options, [("valid-after", "20260101"), ("valid-before", "20300101Z")]);
    assert_eq!((limited.key_type(), limited.key()), key);
    for good in [
        format!("a {KEY}"),
        format!("a valid-before=\"20300101Z\" {KEY}"),
        format!("a valid-after=20300101 {KEY}"),
    ] {
        assert_eq!(AllowedSigner::new(&good).map(AllowedSigner::into_string), Ok(good));
    }
    use InvalidSigner::*;
    for (bad, reason) in [
        (String::new(), Syntax),
        ("a".to_owned(), Syntax),
        ("a ssh-ed25519".to_owned(), Syntax),
        (format!("a {KEY}\n* {KEY}"), Syntax),
        (format!("a {KEY} \u{202e}"), Syntax),
        (format!("a {KEY} {}", "a".repeat(4_096)), Syntax),
        // Patterns would allow every name.
        (format!("* {KEY}"), Name),
        (format!("*@example.com {KEY}"), Name),
        (format!("a,b {KEY}"), Name),
        (format!("!a {KEY}"), Name),
        (format!("-a {KEY}"), Name),
        (KEY.to_owned(), Name),
        (format!("a namespaces=\"file\" {KEY}"), Option),
        (format!("a valid-before=\"x\" {KEY}"), Option),
        (format!("a valid-before=20300101,valid-before=20400101 {KEY}"), Option),
        (format!("a valid-before=\"20300101\",cert-authority {KEY}"), Option),
        (format!("a cert-authority {KEY}"), Key),
        (format!("a {}", KEY.replace("ssh-ed25519", "ssh-dss")), Key),
        (format!("a {}", KEY.replace("ssh-ed25519", "ssh-rsa")), Key),
        (format!("a {}!", KEY), Key),
        (format!("a {}=", KEY), Key),
        ("a ssh-ed25519 AAAAC3NzaC1lZDI1NTE5".to_owned(), Key),
        (format!("-----BEGIN OPENSSH PRIVATE KEY----- {KEY}"), Name),
    ] {
        assert_eq!(AllowedSigner::new(&bad), Err(reason), "{bad}");
    }
}

#[test]
fn sort_keys_have_the_order_of_versions() {
    let mut versions: Vec<StepVersion> = [
        "1.0.0",
        "0.9.10",
        "0.9.9",
        "10.0.0",
        "2.0.0",
        "2.10.0",
        "2.9.0",
        "2.0.0-rc.1",
        "2.0.0-rc.10",
        "2.0.0-rc.9",
        "2.0.0-rc",
        "2.0.0-rc-1",
        "2.0.0-alpha",
        "2.0.0-alpha.beta",
        "2.0.0-1",
        "2.0.0-99999999999999999999",
        "2.0.0-rc.1.1",
        "18446744073709551615.0.0",
    ]
    .map(|text| text.parse().unwrap())
    .to_vec();
    let mut by_key = versions.clone();
    by_key.sort_by_key(version_sort_key);
    versions.sort();
    assert_eq!(by_key, versions);
}
