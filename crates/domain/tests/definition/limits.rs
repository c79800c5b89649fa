//! Malicious inputs: they are rejected with the exceeded limit, and quickly.

use std::fmt::Write;
use std::time::{Duration, Instant};

use greenroom_domain::definition::{Diagnostic, parse};

use super::{check_diagnostic, only_step, stage, top};

/// Far more than any of these inputs takes even in a debug build on a busy machine, far less than a
/// successful attack takes.
const MAX_PARSE_TIME: Duration = Duration::from_secs(10);

fn problems(source: &str) -> Vec<Diagnostic> {
    let start = Instant::now();
    let problems = parse(source).err().unwrap_or_default();
    assert!(start.elapsed() < MAX_PARSE_TIME, "{:?} for {} bytes", start.elapsed(), source.len());
    problems.iter().for_each(check_diagnostic);
    problems
}

fn assert_limit(source: &str, limit: &str) {
    let problems = problems(source);
    assert!(problems.first().is_some_and(|problem| problem.message.contains(limit)), "{limit}: {problems:?}");
}

#[test]
fn text_limits() {
    assert_limit(&"#".repeat(1024 * 1024 + 1), "larger than 1048576 bytes");
    assert_limit(&format!("stages: {}", "[".repeat(20_000)), "deeper than 32 levels");
    assert_limit(&format!("stages: {}", "{a: ".repeat(40)), "deeper than 32 levels");
    let mut blocks = String::new();
    for level in 0..200 {
        let _ = writeln!(blocks, "{}a:", " ".repeat(level));
    }
    assert_limit(&format!("stages:\n{blocks}"), "deeper than 32 levels");
    assert_limit(&stage(&format!("needs: [{}]", "a, ".repeat(25_000))), "more than 20000 elements");
    assert_limit(&top(&format!("variables: {{{}}}", keys(25_000))), "more than 20000 elements");
    assert_limit(&stage(&format!("needs: [&a x{}]", ", *a".repeat(101))), "more than 100 aliases");
    // A million bytes of comments.
    assert!(parse(&format!("{}{}", "# comment\n".repeat(100_000), stage(""))).is_ok());
}

#[test]
fn billion_laughs() {
    let mut source =
        "variables: &a0 {A: b}\nstages:\n  x0: &x0 {needs: [a, a, a, a, a, a, a, a, a]}\n".to_owned();
    for level in 1..10 {
        let inner = format!("*x{}, ", level - 1).repeat(9);
        let _ = writeln!(source, "  x{level}: &x{level} {{needs: [{inner}]}}");
    }
    assert_limit(&source, "its aliases expand to more than 20000 elements");

    let mut source = "stages: {build: {needs: &x0 [a, a, a, a, a, a, a, a, a]}}\nvariables:\n".to_owned();
    for level in 1..10 {
        let _ = writeln!(source, "  x{level}: &x{level} [{}]", format!("*x{}, ", level - 1).repeat(9));
    }
    assert_limit(&source, "its aliases expand to more than 20000 elements");

    // Each list is valid where it is used, and they only multiply when they are expanded.
    let steps = "&s [{image: a, run: b}, {image: a, run: b}, {image: a, run: b}, {image: a, run: b}]";
    let mut source = format!("stages:\n  s0: {{steps: {steps}}}\n");
    for number in 1..100 {
        let _ = writeln!(source, "  s{number}: {{steps: *s}}");
    }
    assert!(parse(&source).is_ok(), "{:?}", parse(&source));
    let big = "{image: a, run: b}, ".repeat(50);
    let mut source = format!("stages:\n  s0: {{steps: &s [{big}]}}\n");
    for number in 1..100 {
        let _ = writeln!(source, "  s{number}: {{steps: *s}}");
    }
    assert_limit(&source, "more than 20000 elements");

    let text = "x".repeat(60_000);
    let mut source = format!("stages:\n  s0: {{steps: [{{image: a, run: &t {text}}}]}}\n");
    for number in 1..100 {
        let _ = writeln!(source, "  s{number}: {{steps: [{{image: a, run: *t}}]}}");
    }
    assert_limit(&source, "bytes");
}

#[test]
fn number_limits() {
    let stages = |count: usize| {
        let mut source = "stages:\n".to_owned();
        for number in 0..count {
            let _ = writeln!(source, "  s{number}: {{steps: [{{image: a, run: b}}]}}");
        }
        source
    };
    assert!(parse(&stages(100)).is_ok());
    assert_limit(&stages(101), "`stages` has 101 entries; 100 is the most");
    let steps =
        |count: usize| format!("stages: {{build: {{steps: [{}]}}}}", "{image: a, run: b}, ".repeat(count));
    assert!(parse(&steps(50)).is_ok());
    assert_limit(&steps(51), "`steps` has 51 entries; 50 is the most");
    assert!(parse(&top(&format!("variables: {{{}}}", keys(100)))).is_ok());
    assert_limit(&top(&format!("variables: {{{}}}", keys(101))), "`variables` has 101 entries");
    let environments = |lasting: usize, ephemeral: usize| {
        top(&format!(
            "environments: {{{}}}\nephemeralEnvironments: {{{}}}",
            names('l', lasting),
            names('e', ephemeral)
        ))
    };
    assert!(parse(&environments(50, 50)).is_ok());
    assert_limit(&environments(50, 51), "101 environments and templates; 100 is the most");
    assert_limit(&environments(101, 0), "100 is the most");
    let labels: String = (0..21).map(|number| format!("l{number}, ")).collect();
    assert_limit(&top(&format!("ephemeralEnvironments: {{qa: {{labels: [{labels}]}}}}")), "20 is the most");
}

#[test]
fn length_limits() {
    assert!(parse(&only_step(&format!("{{image: a, run: {}}}", "x".repeat(64 * 1024)))).is_ok());
    assert_limit(
        &only_step(&format!("{{image: a, run: {}}}", "x".repeat(64 * 1024 + 1))),
        "longer than 65536 bytes",
    );
    assert!(parse(&stage(&format!("name: {}", "x".repeat(4096)))).is_ok());
    assert_limit(&stage(&format!("name: {}", "x".repeat(4097))), "longer than 4096 bytes");
    assert_limit(&top(&format!("variables: {{A: {}}}", "x".repeat(4097))), "longer than 4096 bytes");
    assert_limit(&stage(&format!("if: {}", "x".repeat(1025))), "longer than 1024 bytes");
    let url = format!("https://a.test/{}", "x".repeat(2048));
    assert_limit(&top(&format!("environments: {{a: {{url: '{url}'}}}}")), "longer than 2048 characters");
    assert_limit(&top(&format!("variables: {{{}: x}}", "a".repeat(129))), "not a valid variable name");
}

/// The worst case within the limits: many problems, each of which searches for the nearest name.
#[test]
fn many_problems() {
    let mut source = "stages:\n".to_owned();
    for number in 0..100 {
        let needs: String = (0..150).map(|need| format!("{}{need}, ", "x".repeat(60))).collect();
        let _ = writeln!(source, "  s{number:061}: {{needs: [{needs}], steps: [{{image: a, run: b}}]}}");
    }
    assert_eq!(problems(&source).len(), 100);
    let dense: String = (0..100)
        .map(|number| {
            let needs: String = (0..100).map(|need| format!("s{need}, ")).collect();
            format!("  s{number}: {{needs: [{needs}], steps: [{{image: a, run: b}}]}}\n")
        })
        .collect();
    assert_eq!(problems(&format!("stages:\n{dense}")).len(), 100);
    let conditions: String =
        (0..16).map(|number| format!("  s{number}: {{if: '{}'}}\n", "a.b == ".repeat(146))).collect();
    assert_eq!(problems(&format!("stages:\n{conditions}")).len(), 32);
}

fn keys(count: usize) -> String {
    (0..count).map(|number| format!("K{number}: v, ")).collect()
}

fn names(letter: char, count: usize) -> String {
    (0..count).map(|number| format!("{letter}{number}: {{}}, ")).collect()
}
