use super::*;

const NOW: &str = "2026-11-17T12:00:00Z";
const DAY: u64 = 86_400;

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn digest(digit: char) -> StepDigest {
    format!("sha256:{}", digit.to_string().repeat(64)).parse().unwrap()
}

/// A candidate from `2.3.0 yanked refused unsigned age=HOURS content=DIGIT`.
fn candidate(text: &str) -> Candidate {
    let mut words = text.split(' ');
    let version: StepVersion = words.next().unwrap().parse().unwrap();
    let hash = StepDigest::of(version.to_string().as_bytes());
    let mut candidate = Candidate {
        version,
        digest: hash,
        is_signed: true,
        seen_at: now() - SignedDuration::from_hours(1_000),
        is_yanked: false,
        is_refused: false,
    };
    for word in words {
        match word.split_once('=') {
            Some(("age", hours)) => {
                candidate.seen_at = now() - SignedDuration::from_hours(hours.parse().unwrap());
            }
            Some(("content", digit)) => candidate.digest = digest(digit.chars().next().unwrap()),
            None if word == "yanked" => candidate.is_yanked = true,
            None if word == "refused" => candidate.is_refused = true,
            None if word == "unsigned" => candidate.is_signed = false,
            _ => panic!("{word}"),
        }
    }
    candidate
}

/// Resolves with a registry that requires signatures and an age of a day.
fn resolved(requirement: &str, candidates: &[&str]) -> Result<String, Unresolved> {
    let candidates: Vec<Candidate> = candidates.iter().map(|text| candidate(text)).collect();
    let requirement = VersionRequirement::parse(requirement).unwrap();
    let trust = RegistryTrust { require_signature: true, minimum_age_seconds: DAY };
    let forwards = resolve(&requirement, &candidates, &trust, now()).map(|found| found.version.to_string());
    let reversed: Vec<Candidate> = candidates.into_iter().rev().collect();
    let backwards = resolve(&requirement, &reversed, &trust, now()).map(|found| found.version.to_string());
    assert_eq!(forwards, backwards, "the order of candidates does not matter");
    forwards
}

#[test]
fn chosen_versions() {
    let a = digest('a').to_string();
    for (requirement, candidates, expected) in [
        ("v2", &["2.9.0", "2.10.0", "3.0.0", "1.0.0"][..], "2.10.0"),
        ("v2.3", &["2.3.0", "2.3.4", "2.4.0"], "2.3.4"),
        ("v2", &["2.1.0", "2.2.0-rc.1"], "2.1.0"),
        ("v2.2.0-rc.1", &["2.1.0", "2.2.0-rc.1"], "2.2.0-rc.1"),
        // What is newest does not fit what the registry requires.
        ("v2", &["2.0.0", "2.1.0 yanked"], "2.0.0"),
        ("v2", &["2.0.0", "2.1.0 refused"], "2.0.0"),
        ("v2", &["2.0.0", "2.1.0 unsigned"], "2.0.0"),
        ("v2", &["2.0.0", "2.1.0 age=1"], "2.0.0"),
        ("v2", &["2.0.0", "2.1.0 age=24"], "2.1.0"),
        // A version that is named exactly may be yanked.
        ("v2.1.0", &["2.0.0", "2.1.0 yanked"], "2.1.0"),
        (&a, &["2.0.0", "2.1.0 yanked content=a"], "2.1.0"),
        // Of two versions with one content, the one that is not yanked, then the newer one.
        (&a, &["2.0.0 content=a", "2.1.0 yanked content=a"], "2.0.0"),
        (&a, &["2.0.0 content=a", "2.1.0 content=a"], "2.1.0"),
    ] {
        assert_eq!(
            resolved(requirement, candidates).as_deref(),
            Ok(expected),
            "{requirement} of {candidates:?}"
        );
    }
}

#[test]
fn unresolved() {
    let a = digest('a').to_string();
    let version = |text: &str| text.parse::<StepVersion>().unwrap();
    let until = |hours: i64| now() + SignedDuration::from_hours(hours);
    let none = |required: &str, newest: Option<&str>| Unresolved::NoVersion {
        required: required.to_owned(),
        newest: newest.map(version),
    };
    let yanked = |required: &str, newest: &str| Unresolved::AllYanked {
        required: required.to_owned(),
        newest: version(newest),
    };
    let refused = |text: &str| Unresolved::Refused { version: version(text) };
    let unsigned = |text: &str| Unresolved::NotSigned { version: version(text) };
    let young = |text: &str, hours| Unresolved::TooYoung { version: version(text), until: until(hours) };
    for (requirement, candidates, expected) in [
        ("v2", &[][..], none("v2", None)),
        ("v2", &["1.0.0", "3.1.0", "4.0.0 yanked", "4.0.0-rc.1"], none("v2", Some("3.1.0"))),
        ("v2", &["2.0.0-rc.1"], none("v2", Some("2.0.0-rc.1"))),
        ("v2.1.0", &["2.0.0"], none("v2.1.0", Some("2.0.0"))),
        (&a, &["2.0.0"], none(&a, Some("2.0.0"))),
        ("v2", &["2.0.0 yanked", "2.1.0 yanked"], yanked("v2", "2.1.0")),
        ("v2", &["2.0.0 yanked refused"], refused("2.0.0")),
        ("v2.0.0", &["2.0.0 yanked refused"], refused("2.0.0")),
        (&a, &["2.0.0 refused content=a"], refused("2.0.0")),
        // The content of a refused version is published again.
        ("v2.1.0", &["2.0.0 refused content=a", "2.1.0 content=a"], refused("2.1.0")),
        (&a, &["2.0.0 refused content=a", "2.1.0 content=a"], refused("2.1.0")),
        ("v2", &["2.0.0 unsigned", "2.1.0 unsigned"], unsigned("2.1.0")),
        // Naming a version exactly does not evade what the registry requires.
        ("v2.0.0", &["2.0.0 unsigned"], unsigned("2.0.0")),
        (&a, &["2.0.0 unsigned content=a"], unsigned("2.0.0")),
        ("v2.0.0", &["2.0.0 age=1"], young("2.0.0", 23)),
        (&a, &["2.0.0 age=1 content=a"], young("2.0.0", 23)),
        ("v2", &["2.0.0 age=5", "2.1.0 age=1"], young("2.0.0", 19)),
        ("v2", &["2.0.0 yanked", "2.1.0 unsigned", "2.2.0 age=23"], young("2.2.0", 1)),
        // A clock that went backwards.
        ("v2", &["2.0.0 age=-1"], young("2.0.0", 25)),
    ] {
        assert_eq!(resolved(requirement, candidates), Err(expected), "{requirement} of {candidates:?}");
    }
}

#[test]
fn without_requirements() {
    let candidates = [candidate("2.0.0 unsigned age=0")];
    let (requirement, trust) = (VersionRequirement::Major(2), RegistryTrust::default());
    assert!(resolve(&requirement, &candidates, &trust, now()).is_ok());
    let never = RegistryTrust { minimum_age_seconds: u64::MAX, ..trust };
    let unresolved = resolve(&requirement, &candidates, &never, now()).unwrap_err();
    assert_eq!(unresolved, Unresolved::TooYoung { version: "2.0.0".parse().unwrap(), until: Timestamp::MAX });
}

#[test]
fn texts_name_what_to_do() {
    let reference: StepReference = serde_json::from_str("\"acme/rol-out@v2\"").unwrap();
    let step = Unresolved::no_such_step(&reference, ["deploy", "roll-out"]);
    assert_eq!(step.to_string(), "the registry `acme` has no step `rol-out`; did you mean `roll-out`?");
    assert_eq!(step.suggestion(&reference).as_deref(), Some("acme/roll-out@v2"));
    let registry = Unresolved::no_such_registry(&reference, ["acmee"]);
    assert_eq!(registry.suggestion(&reference).as_deref(), Some("acmee/rol-out@v2"));
    let unknown = Unresolved::no_such_registry(&reference, ["other"]);
    assert_eq!(unknown.to_string(), "there is no step registry `acme`; an admin can add it");
    let none = resolved("v2", &["3.1.0"]).unwrap_err();
    assert_eq!(none.to_string(), "no version fits `v2`; the newest version is `v3.1.0`");
    assert_eq!(none.suggestion(&reference).as_deref(), Some("acme/rol-out@v3.1.0"));
    let young = resolved("v2", &["2.0.0 age=1"]).unwrap_err().to_string();
    assert!(young.contains("until 2026-11-18T11:00:00Z"), "{young}");
}
