//! The names that a stage's `if` may use.

use greenroom_domain::definition::parse;

use super::{check_diagnostic, check_table, invalid, stage};

const NAMES: [&str; 6] = ["branch", "commitId", "environment", "pipeline", "trigger", "variables"];

#[test]
fn known_names() {
    for expression in [
        "branch == \"main\"",
        "commitId.startsWith(\"0\") || pipeline == \"shop\"",
        "environment in [\"qa-1\", \"production\"] && trigger != \"manual\"",
        "variables.REGION == \"eu-west-1\" && variables[\"MODE\"] != branch",
        "\"MODE\" in variables && has(variables.MODE)",
        "size(branch) > 3 ? true : false",
        ".branch == \"main\"",
        // Names that a macro binds are known inside of it.
        "variables.exists(name, name.startsWith(\"X_\") && variables[name] == branch)",
        "[branch, environment].map(one, one.size()).filter(size, size > 1).size() > 0",
        "[[branch]].all(outer, outer.exists(inner, inner in outer))",
        "{\"a\": branch}.a == \"main\"",
    ] {
        let source = stage(&format!("if: '{expression}'"));
        assert_eq!(parse(&source).err(), None, "{expression}");
    }
}

#[test]
fn other_names() {
    let of = |expression: &str| stage(&format!("if: '{expression}'"));
    let at = (4, 9);
    let pointer = "/stages/build/if";
    check_table(&[
        invalid(of("brnach == \"main\""), at, pointer, "`if` doesn't know `brnach`", Some("branch")),
        invalid(of("commit_id == \"0\""), at, pointer, "`if` doesn't know `commit_id`", Some("commitId")),
        invalid(of("variable.X == \"0\""), at, pointer, "`if` doesn't know `variable`", Some("variables")),
        invalid(of("REGION == branch"), at, pointer, "`if` doesn't know `REGION`", None),
        invalid(of("greenroom.branch == \"\""), at, pointer, "`if` doesn't know `greenroom`", None),
        invalid(of(".message == \"\""), at, pointer, "`if` doesn't know `message`", None),
        invalid(of("has(message.text)"), at, pointer, "`if` doesn't know `message`", None),
        invalid(of("variables[name] == \"\""), at, pointer, "`if` doesn't know `name`", None),
        invalid(of("size([branch, {\"a\": x}]) > 0"), at, pointer, "`if` doesn't know `x`", None),
        // A bound name is unknown outside of its macro, and in the list that the macro iterates over.
        invalid(of("[1].exists(x, x > 0) && x"), at, pointer, "`if` doesn't know `x`", None),
        invalid(of("x.exists(x, x > 0)"), at, pointer, "`if` doesn't know `x`", None),
        invalid(of("[1].exists(x, .x > 0)"), at, pointer, "`if` doesn't know `x`", None),
    ]);
}

#[test]
fn each_unknown_name_is_reported_once_with_the_known_ones() {
    let source = stage("if: b == a && a == b && c.d(a) && branch == a");
    let problems = parse(&source).err().unwrap_or_default();
    problems.iter().for_each(check_diagnostic);
    let found: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(found, ["`if` doesn't know `b`", "`if` doesn't know `a`", "`if` doesn't know `c`"]);
    assert!(problems.iter().all(|problem| problem.expected == NAMES), "{problems:#?}");
}

#[test]
fn macros_nest_two_deep_at_most() {
    let of = |expression: &str| stage(&format!("if: '{expression}'"));
    let three = "variables.all(a, variables.all(b, variables.all(c, true)))";
    check_table(&[invalid(of(three), (4, 9), "/stages/build/if", "nests macros", None)]);
    assert_eq!(parse(&of("variables.all(a, variables.exists(b, a == b))")).err(), None);
}

/// Each condition is within its own limit.
#[test]
fn all_conditions_together_have_a_limit() {
    let of = |stages: usize| {
        let condition = format!("branch == \"{}\"", "x".repeat(1_000));
        let stages = (0..stages)
            .map(|n| format!("  s{n}: {{ if: '{condition}', steps: [{{ image: a, run: b }}] }}\n"))
            .collect::<String>();
        format!("stages:\n{stages}")
    };
    assert_eq!(parse(&of(16)).err(), None);
    let problems = parse(&of(30)).err().unwrap_or_default();
    problems.iter().for_each(check_diagnostic);
    let found: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    assert_eq!(found, ["/stages/s16/if"], "reported once, at the first condition beyond the limit");
}
