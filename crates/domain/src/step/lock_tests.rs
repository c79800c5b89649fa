use std::collections::BTreeSet;

use super::*;

const TEXT: &str = "stages: {}\n";

fn step(registry: u8, name: &str, version: &str, content: &str) -> LockedStep {
    LockedStep {
        registry_id: format!("reg_0190a0b0-0000-7000-8000-00000000000{registry}").parse().unwrap(),
        registry: "acme".to_owned(),
        name: name.to_owned(),
        version: version.parse().unwrap(),
        digest: StepDigest::of(content.as_bytes()),
    }
}

fn lock(steps: &[(&str, LockedStep)]) -> StepLock {
    steps.iter().map(|(reference, step)| ((*reference).to_owned(), step.clone())).collect()
}

/// Definitions that were saved before there were locks keep their digests.
#[test]
fn without_a_lock_it_is_the_digest_of_the_text() {
    let expected = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(definition_digest("", &StepLock::default()), expected);
    assert_eq!(definition_digest(TEXT, &StepLock::default()), sha256(TEXT.as_bytes()));
}

#[test]
fn text_and_lock_change_the_digest() {
    let locks = [
        lock(&[]),
        lock(&[("acme/a@v2", step(1, "a", "2.0.0", "x"))]),
        lock(&[("acme/a@v1", step(1, "a", "2.0.0", "x"))]),
        lock(&[("acme/a@v2", step(2, "a", "2.0.0", "x"))]),
        lock(&[("acme/a@v2", step(1, "b", "2.0.0", "x"))]),
        lock(&[("acme/a@v2", step(1, "a", "2.0.1", "x"))]),
        lock(&[("acme/a@v2", step(1, "a", "2.0.0", "y"))]),
        lock(&[("acme/a@v2", step(1, "a", "2.0.0", "x")), ("acme/b@v2", step(1, "b", "2.0.0", "x"))]),
    ];
    let digests: BTreeSet<String> =
        locks.iter().flat_map(|lock| [definition_digest(TEXT, lock), definition_digest("", lock)]).collect();
    assert_eq!(digests.len(), 2 * locks.len());
    let renamed = LockedStep { registry: "other".to_owned(), ..step(1, "a", "2.0.0", "x") };
    let renamed = lock(&[("acme/a@v2", renamed)]);
    assert_eq!(
        definition_digest(TEXT, &renamed),
        definition_digest(TEXT, &locks[1]),
        "the id identifies a registry"
    );
}

/// The order in which steps are added does not matter, nor does storing the lock.
#[test]
fn stored_lock() {
    let (one, other) = (("b/a@v2", step(1, "a", "2.0.0", "x")), ("a/b@v1", step(2, "b", "1.0.0", "y")));
    let (forwards, backwards) = (lock(&[one.clone(), other.clone()]), lock(&[other, one]));
    let text = serde_json::to_string(&forwards).unwrap();
    assert_eq!(text, serde_json::to_string(&backwards).unwrap());
    assert_eq!(serde_json::from_str::<StepLock>(&text).unwrap(), forwards);
    assert!(
        text.starts_with(
            r#"{"a/b@v1":{"registryId":"reg_0190a0b0-0000-7000-8000-000000000002","registry":"acme","name":"b","version":"1.0.0","digest":"sha256:"#
        ),
        "{text}"
    );
    assert_eq!(definition_digest(TEXT, &forwards), definition_digest(TEXT, &backwards));
}

/// The canonical form of a text with its lock is not a definition, so that it can't be saved as one.
#[test]
fn no_definition_imitates_a_lock() {
    let canonical = format!("\0lock\n{}\nacme/a@v2 x\n", sha256(TEXT.as_bytes()));
    assert!(crate::definition::parse(&canonical).is_err());
    assert!(crate::definition::parse("stages: { a: { steps: [{ image: a, run: \"\0\" }] } }").is_err());
}

#[test]
fn differences() {
    let before = lock(&[
        ("acme/gone@v1", step(1, "gone", "1.0.0", "g")),
        ("acme/same@v1", step(1, "same", "1.0.0", "s")),
        ("acme/up@v1", step(1, "up", "1.0.0", "u")),
        ("acme/content@v1", step(1, "content", "1.0.0", "c")),
        ("acme/registry@v1", step(1, "registry", "1.0.0", "r")),
    ]);
    let renamed = LockedStep { registry: "renamed".to_owned(), ..step(1, "same", "1.0.0", "s") };
    let after = lock(&[
        ("acme/new@v1", step(1, "new", "1.0.0", "n")),
        ("acme/same@v1", renamed),
        ("acme/up@v1", step(1, "up", "1.1.0", "v")),
        ("acme/content@v1", step(1, "content", "1.0.0", "other")),
        ("acme/registry@v1", step(2, "registry", "1.0.0", "r")),
    ]);
    let diff = lock_diff(&before, &after);
    assert_eq!(diff.added.keys().collect::<Vec<_>>(), ["acme/new@v1"]);
    assert_eq!(diff.removed.keys().collect::<Vec<_>>(), ["acme/gone@v1"]);
    assert_eq!(
        diff.changed.keys().collect::<Vec<_>>(),
        ["acme/content@v1", "acme/registry@v1", "acme/up@v1"]
    );
    let LockChange { before: old, after: new } = &diff.changed["acme/up@v1"];
    assert_eq!((old.version.to_string(), new.version.to_string()), ("1.0.0".to_owned(), "1.1.0".to_owned()));
    assert!(lock_diff(&after, &after).is_empty() && !diff.is_empty());
}
