//! The pipeline definition from outside: what is read, what is refused and in which words, and the schema.

mod cleaning;
mod conditions;
mod invalid_environments;
mod invalid_stages;
mod invalid_syntax;
mod limits;
mod mutation;
mod only;
mod published;
mod schema;
mod valid;

use greenroom_domain::definition::{Diagnostic, parse};

const FULL: &str = include_str!("fixtures/full.yaml");
const MINIMAL: &str = include_str!("fixtures/minimal.yaml");
const ANCHORS: &str = include_str!("fixtures/anchors.yaml");

const STAGES: &str = "stages:\n  build:\n    steps: [{image: a, run: b}]\n";

/// A definition with these lines before its only stage.
fn top(lines: &str) -> String {
    format!("{lines}\n{STAGES}")
}

/// A definition whose only stage has this line, which is line 4, from column 5.
fn stage(line: &str) -> String {
    format!("{STAGES}    {line}\n")
}

/// A definition whose only step has this line, which is line 6, from column 9.
fn step(line: &str) -> String {
    format!("stages:\n  build:\n    steps:\n      - image: a\n        run: b\n        {line}\n")
}

/// A definition with only this step, which begins in line 4, at column 9.
fn only_step(line: &str) -> String {
    format!("stages:\n  build:\n    steps:\n      - {line}\n")
}

/// A definition whose only ephemeral environment has this line, which is line 3, from column 5.
fn qa(line: &str) -> String {
    top(&format!("ephemeralEnvironments:\n  qa-1:\n    {line}"))
}

/// A definition with this ephemeral environment, which begins in line 2, at column 3.
fn ephemeral(line: &str) -> String {
    top(&format!("ephemeralEnvironments:\n  {line}"))
}

struct Refusal {
    source: String,
    line: u32,
    column: u32,
    pointer: &'static str,
    message: &'static str,
    suggestion: Option<&'static str>,
}

/// A definition with exactly one problem.
fn refused(
    source: impl Into<String>,
    (line, column): (u32, u32),
    pointer: &'static str,
    message: &'static str,
    suggestion: Option<&'static str>,
) -> Refusal {
    Refusal { source: source.into(), line, column, pointer, message, suggestion }
}

fn hold(table: &[Refusal]) {
    for case in table {
        let problems = parse(&case.source).err().unwrap_or_default();
        let found: Vec<_> = problems.iter().map(|p| (p.line, p.column, p.pointer.as_str())).collect();
        assert_eq!(found, [(case.line, case.column, case.pointer)], "{}\n{problems:#?}", case.source);
        for problem in &problems {
            assert!(problem.message.contains(case.message), "{}\n{problem:#?}", case.source);
            assert_eq!(problem.suggestion.as_deref(), case.suggestion, "{}\n{problem:#?}", case.source);
            is_for_people(problem);
        }
    }
}

/// What holds for every diagnostic.
fn is_for_people(problem: &Diagnostic) {
    assert!(problem.line >= 1 && problem.column >= 1, "{problem:?}");
    assert!(problem.pointer.is_empty() || problem.pointer.starts_with('/'), "{problem:?}");
    assert!((5..600).contains(&problem.message.len()), "{problem:?}");
    assert!(!problem.message.chars().any(char::is_control), "{problem:?}");
    for word in
        ["deserial", "scalar", "sequence start", "mapping start", "u64", "u32", "invalid type", "Option<"]
    {
        assert!(!problem.message.contains(word), "{problem:?}");
    }
    if let Some(word) = &problem.suggestion {
        assert!(problem.message.ends_with(&format!("did you mean `{word}`?")), "{problem:?}");
        assert!(problem.expected.is_empty() || problem.expected.contains(word), "{problem:?}");
    }
}
