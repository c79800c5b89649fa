//! The names that a stage's `if` may use.

use greenroom_domain::definition::parse;

use super::{hold, is_for_people, refused, stage};

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
        // What a macro binds is its own.
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
    hold(&[
        refused(of("brnach == \"main\""), at, pointer, "`if` doesn't know `brnach`", Some("branch")),
        refused(of("commit_id == \"0\""), at, pointer, "`if` doesn't know `commit_id`", Some("commitId")),
        refused(of("variable.X == \"0\""), at, pointer, "`if` doesn't know `variable`", Some("variables")),
        refused(of("REGION == branch"), at, pointer, "`if` doesn't know `REGION`", None),
        refused(of("greenroom.branch == \"\""), at, pointer, "`if` doesn't know `greenroom`", None),
        refused(of(".message == \"\""), at, pointer, "`if` doesn't know `message`", None),
        refused(of("has(message.text)"), at, pointer, "`if` doesn't know `message`", None),
        refused(of("variables[name] == \"\""), at, pointer, "`if` doesn't know `name`", None),
        refused(of("size([branch, {\"a\": x}]) > 0"), at, pointer, "`if` doesn't know `x`", None),
        // Outside of its macro a bound name is as unknown as any, and so is the list that it goes through.
        refused(of("[1].exists(x, x > 0) && x"), at, pointer, "`if` doesn't know `x`", None),
        refused(of("x.exists(x, x > 0)"), at, pointer, "`if` doesn't know `x`", None),
        refused(of("[1].exists(x, .x > 0)"), at, pointer, "`if` doesn't know `x`", None),
    ]);
}

#[test]
fn each_once_with_what_may_stand_there() {
    let source = stage("if: b == a && a == b && c.d(a) && branch == a");
    let problems = parse(&source).err().unwrap_or_default();
    problems.iter().for_each(is_for_people);
    let found: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(found, ["`if` doesn't know `b`", "`if` doesn't know `a`", "`if` doesn't know `c`"]);
    assert!(problems.iter().all(|problem| problem.expected == NAMES), "{problems:#?}");
}

#[test]
fn macros_nest_two_deep_at_most() {
    let of = |expression: &str| stage(&format!("if: '{expression}'"));
    let three = "variables.all(a, variables.all(b, variables.all(c, true)))";
    hold(&[refused(of(three), (4, 9), "/stages/build/if", "nests macros", None)]);
    assert_eq!(parse(&of("variables.all(a, variables.exists(b, a == b))")).err(), None);
}

/// Each condition alone keeps to its limit.
#[test]
fn conditions_have_a_limit_in_all() {
    let of = |stages: usize| {
        let condition = format!("branch == \"{}\"", "x".repeat(1_000));
        let stages = (0..stages)
            .map(|n| format!("  s{n}: {{ if: '{condition}', steps: [{{ image: a, run: b }}] }}\n"))
            .collect::<String>();
        format!("stages:\n{stages}")
    };
    assert_eq!(parse(&of(16)).err(), None);
    let problems = parse(&of(30)).err().unwrap_or_default();
    problems.iter().for_each(is_for_people);
    let found: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    assert_eq!(found, ["/stages/s16/if"], "said once, at the first that is too many");
}
