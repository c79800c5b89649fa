//! Inputs made to hurt: refused with the limit's name, and soon.

use std::fmt::Write;
use std::time::{Duration, Instant};

use greenroom_domain::definition::{Diagnostic, parse};

use super::{is_for_people, only_step, stage, top};

/// Far above what any of these takes even in a debug build on a busy machine, far below what an attack would.
const SOON: Duration = Duration::from_secs(10);

fn problems(source: &str) -> Vec<Diagnostic> {
    let start = Instant::now();
    let problems = parse(source).err().unwrap_or_default();
    assert!(start.elapsed() < SOON, "{:?} for {} bytes", start.elapsed(), source.len());
    problems.iter().for_each(is_for_people);
    problems
}

fn refuses(source: &str, limit: &str) {
    let problems = problems(source);
    assert!(problems.first().is_some_and(|problem| problem.message.contains(limit)), "{limit}: {problems:?}");
}

#[test]
fn of_the_text() {
    refuses(&"#".repeat(1024 * 1024 + 1), "larger than 1048576 bytes");
    refuses(&format!("stages: {}", "[".repeat(20_000)), "deeper than 32 levels");
    refuses(&format!("stages: {}", "{a: ".repeat(40)), "deeper than 32 levels");
    let mut blocks = String::new();
    for level in 0..200 {
        let _ = writeln!(blocks, "{}a:", " ".repeat(level));
    }
    refuses(&format!("stages:\n{blocks}"), "deeper than 32 levels");
    refuses(&stage(&format!("needs: [{}]", "a, ".repeat(25_000))), "more than 20000 elements");
    refuses(&top(&format!("variables: {{{}}}", keys(25_000))), "more than 20000 elements");
    refuses(&stage(&format!("needs: [&a x{}]", ", *a".repeat(101))), "more than 100 aliases");
    // A million bytes of nothing.
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
    refuses(&source, "its aliases expand to more than 20000 elements");

    let mut source = "stages: {build: {needs: &x0 [a, a, a, a, a, a, a, a, a]}}\nvariables:\n".to_owned();
    for level in 1..10 {
        let _ = writeln!(source, "  x{level}: &x{level} [{}]", format!("*x{}, ", level - 1).repeat(9));
    }
    refuses(&source, "its aliases expand to more than 20000 elements");

    // Each list is in its right place, and they only multiply when they are read.
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
    refuses(&source, "more than 20000 elements");

    let text = "x".repeat(60_000);
    let mut source = format!("stages:\n  s0: {{steps: [{{image: a, run: &t {text}}}]}}\n");
    for number in 1..100 {
        let _ = writeln!(source, "  s{number}: {{steps: [{{image: a, run: *t}}]}}");
    }
    refuses(&source, "bytes");
}

#[test]
fn of_numbers() {
    let stages = |count: usize| {
        let mut source = "stages:\n".to_owned();
        for number in 0..count {
            let _ = writeln!(source, "  s{number}: {{steps: [{{image: a, run: b}}]}}");
        }
        source
    };
    assert!(parse(&stages(100)).is_ok());
    refuses(&stages(101), "`stages` has 101 entries; 100 is the most");
    let steps =
        |count: usize| format!("stages: {{build: {{steps: [{}]}}}}", "{image: a, run: b}, ".repeat(count));
    assert!(parse(&steps(50)).is_ok());
    refuses(&steps(51), "`steps` has 51 entries; 50 is the most");
    assert!(parse(&top(&format!("variables: {{{}}}", keys(100)))).is_ok());
    refuses(&top(&format!("variables: {{{}}}", keys(101))), "`variables` has 101 entries");
    let environments = |lasting: usize, ephemeral: usize| {
        top(&format!(
            "environments: {{{}}}\nephemeralEnvironments: {{{}}}",
            names('l', lasting),
            names('e', ephemeral)
        ))
    };
    assert!(parse(&environments(50, 50)).is_ok());
    refuses(&environments(50, 51), "101 environments and templates; 100 is the most");
    refuses(&environments(101, 0), "100 is the most");
    let labels: String = (0..21).map(|number| format!("l{number}, ")).collect();
    refuses(&top(&format!("ephemeralEnvironments: {{qa: {{labels: [{labels}]}}}}")), "20 is the most");
}

#[test]
fn of_lengths() {
    assert!(parse(&only_step(&format!("{{image: a, run: {}}}", "x".repeat(64 * 1024)))).is_ok());
    refuses(
        &only_step(&format!("{{image: a, run: {}}}", "x".repeat(64 * 1024 + 1))),
        "longer than 65536 bytes",
    );
    assert!(parse(&stage(&format!("name: {}", "x".repeat(4096)))).is_ok());
    refuses(&stage(&format!("name: {}", "x".repeat(4097))), "longer than 4096 bytes");
    refuses(&top(&format!("variables: {{A: {}}}", "x".repeat(4097))), "longer than 4096 bytes");
    refuses(&stage(&format!("if: {}", "x".repeat(1025))), "longer than 1024 bytes");
    let url = format!("https://a.test/{}", "x".repeat(2048));
    refuses(&top(&format!("environments: {{a: {{url: '{url}'}}}}")), "longer than 2048 characters");
    refuses(&top(&format!("variables: {{{}: x}}", "a".repeat(129))), "not a valid variable name");
}

/// The worst that the limits let through: many problems, each of which looks for a nearest word.
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
