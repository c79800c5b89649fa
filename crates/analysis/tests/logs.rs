//! Failures of real commands, each with a good run, within noise: how often is the decisive line found? The bars are
//! those of the feature; the corpus in `e2e/corpus` has more cases and other forms.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests may panic, and print what was missed")]

#[path = "noise/around.rs"]
mod around;
mod noise;

use std::fs;
use std::path::Path;

use greenroom_analysis::reduce::{Budget, Reducer, Reduction, TemplateSet};
use greenroom_analysis::rules::{Clues, categorize};
use greenroom_domain::deployment::Reason;
use greenroom_domain::failure::Category;

use self::around::{clean_up, drift};
use self::noise::{Random, noise};

/// Name, exit code, category, and what the decisive line contains.
const CASES: &[(&str, i32, Category, &str)] = &[
    ("gcc-syntax", 1, Category::Compile, "expected ‘;’ before ‘return’"),
    ("gcc-link", 2, Category::Compile, "undefined reference to"),
    ("rustc-type", 1, Category::Compile, "error[E0308]: mismatched types"),
    ("rustc-test", 101, Category::Test, "assertion `left == right` failed: sum"),
    ("rust-panic", 101, Category::Configuration, "called `Result::unwrap()` on an `Err` value"),
    ("python-trace", 1, Category::Configuration, "KeyError: 'port'"),
    ("python-chain", 1, Category::Unknown, "RuntimeError: settings are incomplete"),
    ("unittest", 1, Category::Test, "AssertionError: 1 != 2"),
    ("python-syntax", 1, Category::Compile, "SyntaxError: expected ':'"),
    ("python-module", 1, Category::Dependency, "ModuleNotFoundError: No module named 'jsonpatchx'"),
    ("pip-missing", 1, Category::Dependency, "Could not find a version that satisfies"),
    ("node-throw", 1, Category::Unknown, "TypeError: Cannot read properties of undefined"),
    ("node-module", 1, Category::Dependency, "Error: Cannot find module 'left-padx'"),
    ("node-test", 1, Category::Test, "Expected values to be strictly equal"),
    ("node-refused", 1, Category::Network, "Error: connect ECONNREFUSED 127.0.0.1:1"),
    ("npm-script", 1, Category::Configuration, "Missing script: \"build\""),
    ("javac", 1, Category::Compile, "incompatible types: int cannot be converted to String"),
    (
        "java-cause",
        1,
        Category::Unknown,
        "Caused by: java.lang.NumberFormatException: For input string: \"x1\"",
    ),
    ("curl-refused", 7, Category::Network, "curl: (7) Failed to connect"),
    ("curl-host", 6, Category::Network, "Could not resolve host"),
    ("shell-unbound", 1, Category::Configuration, "TOKEN: unbound variable"),
    ("shell-command", 127, Category::Configuration, "kubectlx: command not found"),
    ("disk-full", 1, Category::Resource, "No space left on device"),
    ("sqlite", 1, Category::Database, "sqlite3.OperationalError: no such table: b"),
    ("psql-host", 2, Category::Database, "connection to server at"),
    ("diff-gate", 1, Category::Unknown, "-two"),
    ("rustfmt", 1, Category::Gate, "Diff in "),
    ("oom", 1, Category::Resource, "MemoryError"),
    ("git-auth", 128, Category::Configuration, "not a git repository"),
    ("json-config", 1, Category::Configuration, "json.decoder.JSONDecodeError"),
    ("make-target", 2, Category::Configuration, "No rule to make target 'c'"),
    ("timeout-cmd", 124, Category::Timeout, "waiting for rollout"),
    ("cargo-missing", 101, Category::Dependency, "no matching package named"),
];

struct Case {
    name: &'static str,
    exit_code: i32,
    category: Category,
    decisive: &'static str,
    good: String,
    failed: String,
}

fn cases() -> Vec<Case> {
    let read = |name: &str, kind: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/logs/{name}.{kind}.log"));
        fs::read_to_string(path).unwrap()
    };
    let case = |&(name, exit_code, category, decisive)| {
        let (good, failed) = (read(name, "good"), read(name, "failed"));
        Case { name, exit_code, category, decisive, good, failed }
    };
    CASES.iter().map(case).collect()
}

fn templates(log: &str) -> TemplateSet {
    let mut reducer = Reducer::new(&[]);
    reducer.push(log.as_bytes());
    reducer.templates()
}

fn reduce(baselines: &[TemplateSet], log: &str) -> Reduction {
    let mut reducer = Reducer::new(baselines);
    reducer.push(log.as_bytes());
    reducer.finish(Budget::PANEL)
}

/// Returns the logs of two good runs and of the failed one.
fn logs(case: &Case, seed: u64, has_drift: bool, has_clean_up: bool) -> ([String; 2], String) {
    let random = &mut Random::new(seed);
    let behind = |random: &mut Random| if has_clean_up { clean_up(random) } else { String::new() };
    let mut good = || format!("{}{}{}", noise(random, 1_500), case.good, behind(random));
    let good = [good(), good()];
    let before = if has_drift { drift(random) } else { String::new() };
    let failed = format!("{}{before}{}{}", noise(random, 1_500), case.failed, behind(random));
    (good, failed)
}

/// Returns the share of cases whose decisive line is among the first lines, and prints the others.
fn hits(title: &str, count: usize, has_baseline: bool, has_drift: bool, has_clean_up: bool) -> f64 {
    let (mut hits, mut total) = (0.0, 0.0);
    for (index, case) in cases().iter().enumerate() {
        let (good, failed) = logs(case, index as u64 + 1, has_drift, has_clean_up);
        let baselines: Vec<_> = good.iter().map(|log| templates(log)).collect();
        let reduction = reduce(if has_baseline { &baselines } else { &[] }, &failed);
        let lines: Vec<&str> = failed.lines().collect();
        let first = reduction.first_lines(count);
        let is_hit = first.iter().any(|line| lines[*line as usize - 1].contains(case.decisive));
        total += 1.0;
        hits += f64::from(u8::from(is_hit));
        if !is_hit {
            let shown = reduction.decisive.map(|decisive| decisive.text);
            println!("{title}, {count} lines: {} shows {shown:?}", case.name);
        }
    }
    println!("{title}, {count} lines: {:.2}", hits / total);
    hits / total
}

#[test]
fn the_decisive_line_is_found() {
    assert!(hits("good runs", 10, true, false, false) >= 0.95);
    assert!(hits("good runs", 1, true, false, false) >= 0.65);
    assert!(hits("clean-up behind it", 10, true, false, true) >= 0.95);
    assert!(hits("new lines before it", 10, true, true, false) >= 0.93);
}

#[test]
fn without_good_runs_it_is_found_within_forty_lines() {
    assert!(hits("no good run", 40, false, false, false) >= 0.88);
    assert!(hits("no good run, clean-up behind it", 40, false, false, true) >= 0.80);
}

#[test]
fn the_category_is_right_or_unknown() {
    let (mut right, mut wrong, mut total) = (0.0, 0.0, 0.0);
    for (index, case) in cases().iter().enumerate() {
        let (good, failed) = logs(case, index as u64 + 1, false, false);
        let reduction = reduce(&good.map(|log| templates(&log)), &failed);
        let decisive = reduction.decisive.as_ref().unwrap();
        let category = categorize(&Clues {
            reason: Some(Reason::StepFailed),
            exit_code: Some(case.exit_code),
            decisive: &decisive.text,
            block: &reduction.items[decisive.item].text,
        });
        total += 1.0;
        if category == case.category {
            right += 1.0;
        } else {
            println!("{}: {category} by {:?}", case.name, decisive.text);
            wrong += f64::from(u8::from(category != Category::Unknown));
        }
    }
    println!("category: right {:.2}, wrong {:.2}", right / total, wrong / total);
    assert!(right / total >= 0.85 && wrong / total <= 0.05);
}

#[test]
fn equal_failures_have_the_same_fingerprint() {
    let template = |case: &Case, seed: u64| {
        let (good, failed) = logs(case, seed, false, false);
        reduce(&good.map(|log| templates(&log)), &failed).decisive.unwrap().template
    };
    let cases = cases();
    let differ: Vec<_> =
        cases.iter().filter(|case| template(case, 1) != template(case, 2)).map(|case| case.name).collect();
    assert!(differ.len() * 20 <= cases.len(), "{differ:?}");
}
