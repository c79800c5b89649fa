use std::collections::HashSet;

use super::*;
use crate::definition::{Definition, LockedManifest, parse};
use crate::digest::InvalidDigest;
use crate::step::StepManifest;

const PINNED: &str = "tools@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn release(steps: &str) -> Definition {
    let text = format!(
        "environments: {{ production: {{}}, staging: {{}} }}\n\
         stages: {{ release: {{ environment: production, steps: [{steps}] }} }}"
    );
    parse(&text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn needed(artifact: Option<&str>, outputs: &[(&str, &str)]) -> NeededStage {
    let outputs = outputs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
    NeededStage { key: "build".to_owned(), artifact: artifact.map(str::to_owned), outputs: outputs.collect() }
}

fn cache(key: &str, sha256: &str) -> SubjectCache {
    SubjectCache { key: key.to_owned(), sha256: sha256.to_owned() }
}

/// Returns a step that a definition has locked.
fn locked(version: &str, digit: &str) -> LockedManifest {
    let manifest = format!("name: x\nimage: {PINNED}\nrun: echo\n");
    LockedManifest {
        step: LockedStep {
            registry_id: uuid::Uuid::nil().into(),
            registry: "acme".to_owned(),
            name: "x".to_owned(),
            version: version.parse().unwrap(),
            digest: format!("sha256:{}", digit.repeat(64)).parse().unwrap(),
        },
        manifest: StepManifest::parse(&manifest, Some("x")).unwrap(),
    }
}

#[test]
fn another_lock_is_another_subject() {
    let digest = |locked: Option<LockedManifest>| {
        let definition = release("{ uses: acme/x@v1 }");
        let locked_steps = locked.map(|locked| ("acme/x@v1".to_owned(), locked)).into_iter().collect();
        let input = SubjectInput {
            definition: "v1",
            stage: definition.stage("release").unwrap(),
            locked_steps: &locked_steps,
            environment: None,
            commit: &commit("a"),
            branch: None,
            needs: &[],
            caches: &[],
        };
        Subject::new(&input).unwrap().digest()
    };
    let digests = [None, Some(locked("1.0.0", "a")), Some(locked("1.0.1", "a")), Some(locked("1.0.0", "b"))];
    let digests: HashSet<SubjectDigest> = digests.into_iter().map(digest).collect();
    assert_eq!(digests.len(), 4);
}

fn commit(digit: &str) -> CommitId {
    CommitId::new(&digit.repeat(40)).unwrap()
}

#[test]
fn everything_that_changes_what_runs_changes_the_digest() {
    let secret = |name: &str| format!("{{ image: a, run: b, secrets: {{ KEY: {name} }} }}");
    let definitions = [
        release("{ image: a, run: b }"),
        release("{ image: c, run: b }"),
        release(&secret("one")),
        release(&secret("two")),
    ];
    let mut digests = HashSet::new();
    let mut count = 0;
    for definition in &definitions {
        for digest in ["v1", "v2"] {
            for environment in [None, Some("qa-1")] {
                for commit in [commit("a"), commit("b")] {
                    for needs in [
                        vec![],
                        vec![needed(None, &[])],
                        vec![needed(Some("1"), &[])],
                        vec![needed(Some("2"), &[])],
                        vec![needed(None, &[("tag", "1")])],
                        vec![needed(None, &[("tag", "2")])],
                        vec![needed(None, &[("tag", "1"), ("url", "2")])],
                    ] {
                        for (branch, caches) in [
                            (None, vec![]),
                            (Some("main"), vec![]),
                            (Some("develop"), vec![]),
                            (None, vec![cache("deps", "1")]),
                            (None, vec![cache("deps", "2")]),
                            (None, vec![cache("other", "1")]),
                        ] {
                            let input = SubjectInput {
                                definition: digest,
                                stage: definition.stage("release").unwrap(),
                                locked_steps: &definition.locked_steps,
                                environment,
                                commit: &commit,
                                branch,
                                needs: &needs,
                                caches: &caches,
                            };
                            let subject = Subject::new(&input).unwrap();
                            assert_eq!(subject.digest(), subject.clone().digest());
                            digests.insert(subject.digest());
                            count += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(digests.len(), count);
}

#[test]
fn the_order_of_needs_and_of_keys_does_not_matter() {
    let definition = release("{ image: a, run: b }");
    let other = NeededStage { key: "other".to_owned(), ..needed(Some("1"), &[]) };
    let needs = [needed(Some("2"), &[]), other];
    let reversed: Vec<NeededStage> = needs.iter().rev().cloned().collect();
    let of = |needs: &[NeededStage]| {
        let stage = definition.stage("release").unwrap();
        let commit = commit("a");
        let locked_steps = &definition.locked_steps;
        let input = SubjectInput {
            definition: "v1",
            stage,
            locked_steps,
            environment: None,
            commit: &commit,
            branch: None,
            needs,
            caches: &[],
        };
        Subject::new(&input).unwrap()
    };
    assert_eq!(of(&needs), of(&reversed));
    // As it is stored, and read again from a column of type `jsonb`, which does not keep the order.
    let stored = serde_json::to_string(&of(&needs)).unwrap();
    assert_eq!(serde_json::from_str::<Subject>(&stored).unwrap().digest(), of(&needs).digest());
    let mut text = String::new();
    write_canonical(&serde_json::json!({ "b": [1, null, "é\n\""], "a": { "z": true, "y": {} } }), &mut text);
    assert_eq!(text, r#"{"a":{"y":{},"z":true},"b":[1,null,"é\n\""]}"#);
}

/// The digest is part of what people and programs store, so its form does not change by accident.
#[test]
fn the_digest_of_a_subject_is_stable() {
    let definition = release(&format!("{{ name: Ship, image: {PINNED}, run: b, secrets: {{ KEY: key }} }}"));
    let (needs, commit) = ([needed(Some("abc"), &[("tag", "1")])], commit("a"));
    let input = SubjectInput {
        definition: "v1",
        stage: definition.stage("release").unwrap(),
        locked_steps: &definition.locked_steps,
        environment: None,
        commit: &commit,
        branch: None,
        needs: &needs,
        caches: &[],
    };
    let subject = Subject::new(&input).unwrap();
    let json = serde_json::to_value(&subject).unwrap();
    let mut text = String::new();
    write_canonical(&json, &mut text);
    let outputs = subject.needs[0].outputs.clone();
    let expected = format!(
        "{{\"commitId\":\"{}\",\"definition\":\"v1\",\"environment\":\"production\",\"needs\":[{{\"artifact\":\"abc\",\
         \"outputs\":\"{outputs}\",\"stage\":\"build\"}}],\"secrets\":[\"key\"],\"stage\":\"release\",\"steps\":\
         [{{\"image\":\"{PINNED}\",\"name\":\"Ship\",\"unpinned\":false,\"uses\":null}}]}}",
        "a".repeat(40)
    );
    assert_eq!(text, expected);
    assert_eq!(subject.digest(), digest_of(&json));
    assert_eq!(
        digest_of(&Value::Object(serde_json::Map::new())).as_str(),
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    );
}

#[test]
fn tags_are_marked_and_short_commits_have_no_subject() {
    let mut definition = release(&format!(
        "{{ image: 'a:1', run: b }}, {{ image: {PINNED}, run: b }}, {{ uses: acme/x@v2 }}, {{ uses: acme/x@v1 }}"
    ));
    definition.locked_steps.insert("acme/x@v1".to_owned(), locked("1.2.3", "b"));
    let stage = definition.stage("release").unwrap();
    let of = |commit: &CommitId| {
        let locked_steps = &definition.locked_steps;
        Subject::new(&SubjectInput {
            definition: "v1",
            stage,
            locked_steps,
            environment: None,
            commit,
            branch: None,
            needs: &[],
            caches: &[],
        })
    };
    let subject = of(&commit("a")).unwrap();
    let unpinned: Vec<bool> = subject.steps.iter().map(|step| step.unpinned).collect();
    assert_eq!(unpinned, [true, false, true, false]);
    assert_eq!(subject.steps[3].locked.as_ref().unwrap().version.to_string(), "1.2.3");
    assert_eq!(subject.steps[3].image.as_deref(), Some(PINNED));
    assert_eq!(of(&CommitId::new("abcdef0").unwrap()), None);
}

#[test]
fn a_digest_has_one_spelling() {
    let digest = format!("sha256:{}", "a".repeat(64));
    assert_eq!(digest.parse::<SubjectDigest>().unwrap().as_str(), digest);
    for text in
        ["", "sha256:", &"a".repeat(64), &digest.replace('a', "A"), &digest[..70], &format!("{digest}0")]
    {
        assert_eq!(text.parse::<SubjectDigest>(), Err(InvalidDigest), "{text}");
    }
}
