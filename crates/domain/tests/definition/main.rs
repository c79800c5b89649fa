//! The public interface of pipeline definitions: what is accepted, what is rejected with which message, and
//! the schema.

mod accept_from;
mod cleaning;
mod conditions;
mod invalid_approvals;
mod invalid_environments;
mod invalid_stages;
mod invalid_steps;
mod invalid_syntax;
mod limits;
mod mutation;
mod only;
mod published;
mod schema;
mod submodules;
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

struct InvalidDefinition {
    source: String,
    line: u32,
    column: u32,
    pointer: &'static str,
    message: &'static str,
    suggestion: Option<&'static str>,
}

/// A definition with exactly one problem.
fn invalid(
    source: impl Into<String>,
    (line, column): (u32, u32),
    pointer: &'static str,
    message: &'static str,
    suggestion: Option<&'static str>,
) -> InvalidDefinition {
    InvalidDefinition { source: source.into(), line, column, pointer, message, suggestion }
}

fn check_table(table: &[InvalidDefinition]) {
    for entry in table {
        let problems = parse(&entry.source).err().unwrap_or_default();
        let found: Vec<_> = problems.iter().map(|p| (p.line, p.column, p.pointer.as_str())).collect();
        assert_eq!(found, [(entry.line, entry.column, entry.pointer)], "{}\n{problems:#?}", entry.source);
        for problem in &problems {
            assert!(problem.message.contains(entry.message), "{}\n{problem:#?}", entry.source);
            assert_eq!(problem.suggestion.as_deref(), entry.suggestion, "{}\n{problem:#?}", entry.source);
            check_diagnostic(problem);
        }
    }
}

/// Checks what has to hold for every diagnostic.
fn check_diagnostic(problem: &Diagnostic) {
    assert!(problem.line >= 1 && problem.column >= 1, "{problem:?}");
    assert!(problem.pointer.is_empty() || problem.pointer.starts_with('/'), "{problem:?}");
    assert!((5..600).contains(&problem.message.len()), "{problem:?}");
    assert!(!problem.message.chars().any(char::is_control), "{problem:?}");
    for text in
        ["deserial", "scalar", "sequence start", "mapping start", "u64", "u32", "invalid type", "Option<"]
    {
        assert!(!problem.message.contains(text), "{problem:?}");
    }
    if let Some(text) = &problem.suggestion {
        assert!(problem.message.ends_with(&format!("did you mean `{text}`?")), "{problem:?}");
        assert!(problem.expected.is_empty() || problem.expected.contains(text), "{problem:?}");
    }
}
