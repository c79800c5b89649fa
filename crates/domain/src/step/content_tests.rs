use super::*;

fn file(path: &str, content: &str) -> StepFile {
    StepFile::new(path, FileMode::Regular, content.as_bytes())
}

fn with(other: &[&str]) -> Vec<StepFile> {
    [MANIFEST_PATH].iter().chain(other).map(|path| file(path, "x")).collect()
}

/// The expected digest was computed by the commands of the module's documentation, with `sha256sum`.
#[test]
fn digest_of_an_example() {
    let script = StepFile::new("bin/run it.sh", FileMode::Executable, b"#!/bin/sh\necho hi\n");
    let files = [file("step.yaml", "name: hi\n"), script, file("README.md", "")];
    let digest = content_digest(&files).unwrap();
    assert_eq!(digest.as_str(), "sha256:2cb0712c164caaa3ee05c61420d6f664259eab0b0151ed473682585b51405982");
}

/// Every order of five files has the same digest.
#[test]
fn order_does_not_matter() {
    fn permutations(rest: &[StepFile], chosen: &mut Vec<StepFile>, digests: &mut Vec<StepDigest>) {
        if rest.is_empty() {
            digests.push(content_digest(chosen).unwrap());
        }
        for index in 0..rest.len() {
            let mut rest = rest.to_vec();
            chosen.push(rest.remove(index));
            permutations(&rest, chosen, digests);
            chosen.pop();
        }
    }
    let mut files = with(&["a", "b/c", "b-c"]);
    files.push(StepFile::new("z", FileMode::Executable, b"y"));
    let mut digests = Vec::new();
    permutations(&files, &mut Vec::new(), &mut digests);
    assert_eq!(digests.len(), 120);
    digests.dedup();
    assert_eq!(digests.len(), 1);
}

#[test]
fn everything_of_a_file_changes_the_digest() {
    let executable = StepFile::new("a", FileMode::Executable, b"x");
    let contents = [
        with(&[]),
        with(&["a"]),
        with(&["b"]),
        with(&["a", "b"]),
        vec![file(MANIFEST_PATH, "x"), file("a", "y")],
        vec![file(MANIFEST_PATH, "y"), file("a", "x")],
        vec![file(MANIFEST_PATH, "x"), executable],
    ];
    let digests: BTreeSet<_> = contents.iter().map(|files| content_digest(files).unwrap()).collect();
    assert_eq!(digests.len(), contents.len());
}

/// The name of a file can't imitate the lines of two files.
#[test]
fn a_path_can_not_forge_a_line() {
    let hash = "a".repeat(64);
    let files = with(&[&format!("a {hash}\n100644 b")]);
    assert!(matches!(
        content_digest(&files),
        Err(InvalidContent::Path { reason: InvalidPath::Hidden | InvalidPath::TooLong, .. })
    ));
    let spaces = content_digest(&with(&[&format!("a {hash} 100644 b")])).unwrap();
    assert_ne!(spaces, content_digest(&with(&["a", "b"])).unwrap());
}

#[test]
fn rejected_content() {
    let texts = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    for (paths, names) in [
        (&["a", "a"][..], texts("a", "a")),
        (&["README", "readme"], texts("README", "readme")),
        (&["Ä", "ä"], texts("Ä", "ä")),
        (&["b/X", "B/x"], texts("B/x", "b/X")),
        (&["STEP.yaml"], texts("STEP.yaml", "step.yaml")),
    ] {
        let (one, other) = names;
        assert_eq!(content_digest(&with(paths)), Err(InvalidContent::SamePath { one, other }), "{paths:?}");
    }
    for (paths, path) in [(["a", "a/b"], "a"), (["A/b/c", "a/B"], "a/B"), (["step.yaml/x", "b"], "step.yaml")]
    {
        let path = path.to_owned();
        assert_eq!(content_digest(&with(&paths)), Err(InvalidContent::FileAndFolder { path }), "{paths:?}");
    }
    assert_eq!(content_digest(&[]), Err(InvalidContent::NoManifest));
    assert_eq!(content_digest(&[file("sub/step.yaml", "x")]), Err(InvalidContent::NoManifest));
    assert_eq!(content_digest(&[file("Step.yaml", "x")]), Err(InvalidContent::NoManifest));
    let path = "../x".to_owned();
    let invalid = InvalidContent::Path { path, reason: InvalidPath::Segment };
    assert_eq!(content_digest(&with(&["../x"])), Err(invalid));
}

#[test]
fn limits() {
    let names: Vec<String> = (1..MAX_FILES).map(|number| format!("file-{number}")).collect();
    let mut files = with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(files.len(), MAX_FILES);
    assert!(content_digest(&files).is_ok());
    files.push(file("one-more", ""));
    assert_eq!(content_digest(&files), Err(InvalidContent::TooManyFiles(257)));

    let mut files = with(&["a", "b"]);
    for (bytes, expected) in
        [(MAX_BYTES - 2, None), (MAX_BYTES - 1, Some(MAX_BYTES + 1)), (u64::MAX, Some(u64::MAX))]
    {
        files.last_mut().unwrap().bytes = bytes;
        assert_eq!(content_digest(&files).err(), expected.map(InvalidContent::TooLarge), "{bytes}");
    }
}

#[test]
fn messages_are_printable_and_say_what_to_do() {
    let path = "a\u{1b}[2J".to_owned();
    let error = InvalidContent::Path { path, reason: InvalidPath::Hidden };
    assert_eq!(
        error.to_string(),
        "the path `a\\u{1b}[2J` has a control character, or one that changes the direction of writing: rename the file"
    );
}
