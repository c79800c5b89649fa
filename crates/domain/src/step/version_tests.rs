use super::*;

fn version(text: &str) -> StepVersion {
    text.parse().unwrap()
}

fn digest(digit: &str) -> StepDigest {
    format!("sha256:{}", digit.repeat(64)).parse().unwrap()
}

#[test]
fn versions() {
    for good in ["0.0.0", "2.3.0", "2.3.0-rc.1", "10.20.30", "1.0.0-x-y-z.--"] {
        assert_eq!(version(good).to_string(), good);
    }
    let long = format!("1.0.0-{}", "a".repeat(59));
    for bad in [
        "",
        "2",
        "2.3",
        "v2.3.0",
        "2.3.0+build",
        "02.3.0",
        "2.3.0-",
        "2.3.0-01",
        " 2.3.0",
        "2.3.0\n",
        "2.3.0.1",
        "2.3.99999999999999999999",
        "-1.0.0",
        "２.3.0",
        &long,
    ] {
        assert_eq!(bad.parse::<StepVersion>(), Err(InvalidVersion), "{bad:?}");
    }
    assert!(version("2.10.0") > version("2.9.0"));
    assert!(version("2.0.0") > version("2.0.0-rc.10"));
    assert!(version("2.0.0-rc.10") > version("2.0.0-rc.9"));
    let json = serde_json::to_string(&version("2.3.0")).unwrap();
    assert_eq!(json, r#""2.3.0""#);
    assert_eq!(serde_json::from_str::<StepVersion>(&json).unwrap(), version("2.3.0"));
    assert!(serde_json::from_str::<StepVersion>(r#""2.3""#).is_err());
}

#[test]
fn tags() {
    for good in ["roll-out/v2.3.0", "a/v0.1.0", "queue/v1.0.0", "roll-out/v2.3.0-rc.1"] {
        let tag = StepTag::parse(good).unwrap();
        assert_eq!(tag.to_string(), good, "a tag has one spelling");
    }
    let long = format!("{}/v1.0.0", "a".repeat(64));
    for other in [
        "",
        "v2.3.0",
        "roll-out",
        "roll-out/2.3.0",
        "roll-out/v2",
        "roll-out/v2.3",
        "roll-out/v2.3.0+build",
        "Roll-out/v2.3.0",
        "1roll/v2.3.0",
        "-roll/v2.3.0",
        "/v2.3.0",
        "../v2.3.0",
        "a/b/v2.3.0",
        "a/v1.0.0/v2.3.0",
        "a/v1.0.0^{}",
        "refs/tags/a/v1.0.0",
        "a b/v1.0.0",
        "roll-out/v2.3.0\n",
        &long,
    ] {
        assert_eq!(StepTag::parse(other), None, "{other:?}");
    }
}

#[test]
fn requirements() {
    use VersionRequirement::{Digest, Exact, Major, Minor};
    let text = digest("a").to_string();
    for (written, expected) in [
        ("v2", Some(Major(2))),
        ("2", Some(Major(2))),
        ("v0", Some(Major(0))),
        ("v2.3", Some(Minor(2, 3))),
        ("v2.3.0", Some(Exact(version("2.3.0")))),
        ("2.3.0", Some(Exact(version("2.3.0")))),
        ("v2.3.0-rc.1", Some(Exact(version("2.3.0-rc.1")))),
        (text.as_str(), Some(Digest(digest("a")))),
        ("", None),
        ("v", None),
        ("vv2", None),
        ("v02", None),
        ("v+2", None),
        ("v2.03", None),
        ("v2.", None),
        ("v2-rc.1", None),
        ("v2.3-rc.1", None),
        ("v2.3.0+build", None),
        ("v99999999999999999999", None),
        ("main", None),
        ("sha256:abc", None),
    ] {
        assert_eq!(VersionRequirement::parse(written), expected, "{written:?}");
    }
}

/// What a requirement displays as can be written in a definition, and has the same meaning there.
#[test]
fn references_accept_every_requirement() {
    for written in ["v2", "v2.3", "v2.3.0", "v2.3.0-rc.1", &digest("a").to_string()] {
        let requirement = VersionRequirement::parse(written).unwrap();
        assert_eq!(requirement.to_string(), written);
        let text = format!("\"acme/roll-out@{requirement}\"");
        let reference: StepReference = serde_json::from_str(&text).unwrap();
        assert_eq!(reference.requirement(), Some(requirement));
    }
}

#[test]
fn matching() {
    let required = |text: &str| VersionRequirement::parse(text).unwrap();
    for (requirement, candidate, expected) in [
        ("v2", "2.0.0", true),
        ("v2", "2.9.1", true),
        ("v2", "3.0.0", false),
        ("v2", "2.0.0-rc.1", false),
        ("v2.3", "2.3.7", true),
        ("v2.3", "2.4.0", false),
        ("v2.3", "2.3.1-rc.1", false),
        ("v2.3.0", "2.3.0", true),
        ("v2.3.0", "2.3.1", false),
        ("v2.3.0", "2.3.0-rc.1", false),
        ("v2.3.0-rc.1", "2.3.0-rc.1", true),
        ("v0", "0.9.0", true),
    ] {
        let fits = required(requirement).matches(&version(candidate), &digest("a"));
        assert_eq!(fits, expected, "{requirement} and {candidate}");
    }
    let by_digest = VersionRequirement::Digest(digest("a"));
    assert!(by_digest.matches(&version("1.0.0"), &digest("a")));
    assert!(!by_digest.matches(&version("1.0.0"), &digest("b")));
}
