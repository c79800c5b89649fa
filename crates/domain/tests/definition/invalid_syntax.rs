//! Text that can't be parsed: no YAML, the wrong structure, or unknown fields. Only one problem is reported.

use super::{check_table, invalid, only_step, qa, stage, step, top};

#[test]
fn no_yaml() {
    check_table(&[
        invalid("a: b: c", (1, 5), "", "map values are not allowed", None),
        invalid("stages: [", (1, 9), "", "unclosed bracket", None),
        invalid("stages: {a: \"x", (1, 13), "", "unclosed quote", None),
        invalid("x: @y", (1, 4), "", "unexpected character", None),
        invalid("version: 1\n  x: 2", (2, 4), "", "map values are not allowed", None),
        invalid("stages: {} }", (1, 12), "", "misplaced bracket", None),
        invalid("version: *x", (1, 10), "", "names an anchor that doesn't stand before it", None),
        invalid("stages: &a\n  x: *a\n", (2, 6), "", "must not contain its own alias", None),
        invalid("version: !foo 1", (1, 15), "", "the tag `!foo` is not supported", None),
        invalid("version: 1\n---\nversion: 1\n", (2, 1), "", "one YAML document", None),
        invalid("version: 1\n\u{7}", (2, 1), "", "U+0007", None),
        invalid("version: 1\n# a\u{0}", (2, 4), "", "U+0000", None),
        invalid("version: 1\n# \u{202e}x", (2, 3), "", "U+202E", None),
        // A syntax error is reported before a structural one, wherever it is.
        invalid("nmae: x\nstages: [", (2, 9), "", "unclosed bracket", None),
    ]);
}

#[test]
fn wrong_structure() {
    check_table(&[
        invalid(
            "foo",
            (1, 1),
            "",
            "the definition must be a map of `key: value` lines, not a single value",
            None,
        ),
        invalid("[]", (1, 1), "", "the definition must be a map of `key: value` lines, not a list", None),
        invalid("stages: []", (1, 9), "/stages", "`stages` must be a map", None),
        invalid("stages: foo", (1, 9), "/stages", "not a single value", None),
        invalid("stages:\n- a", (2, 3), "/stages", "`stages` must be a map", None),
        invalid("stages: {build: []}", (1, 17), "/stages/build", "`build` must be a map", None),
        invalid(
            "stages: {build: {steps: foo}}",
            (1, 25),
            "/stages/build/steps",
            "`steps` must be a list",
            None,
        ),
        invalid(
            "stages:\n  build:\n    steps:\n      image: a\n",
            (4, 7),
            "/stages/build/steps",
            "`steps` must be a list of lines that start with `- `, not a map",
            None,
        ),
        invalid(only_step("foo"), (4, 9), "/stages/build/steps/0", "item 1 of `steps` must be a map", None),
        invalid(
            top("concurrency: many"),
            (1, 14),
            "/concurrency",
            "must be a whole number, not `many`",
            None,
        ),
        invalid(top("concurrency: -1"), (1, 14), "/concurrency", "must be a whole number, not `-1`", None),
        invalid(top("concurrency: 1.5"), (1, 14), "/concurrency", "must be a whole number, not `1.5`", None),
        invalid(top("concurrency: [1]"), (1, 14), "/concurrency", "must be a single value, not a list", None),
        invalid(top("version: one"), (1, 10), "/version", "must be a whole number, not `one`", None),
        invalid(top("variables: [A]"), (1, 12), "/variables", "`variables` must be a map", None),
        invalid(top("variables: {A: [1]}"), (1, 16), "/variables/A", "`A` must be a single value", None),
        invalid(top("variables: {A: ~}"), (1, 16), "/variables/A", "`A` has no value; write `\"\"`", None),
        invalid(top("variables:\n  A:\n"), (2, 4), "/variables/A", "`A` has no value", None),
        invalid(top("runner: default"), (1, 9), "/runner", "`runner` must be a map", None),
        invalid(stage("needs: build"), (4, 12), "/stages/build/needs", "`needs` must be a list", None),
        invalid(stage("needs: {a: b}"), (4, 12), "/stages/build/needs", "`needs` must be a list", None),
        invalid(
            stage("needs: [[a]]"),
            (4, 13),
            "/stages/build/needs/0",
            "item 1 of `needs` must be a single",
            None,
        ),
        invalid(stage("approval: true"), (4, 15), "/stages/build/approval", "`approval` must be a map", None),
        invalid(step("secrets: [API_KEY]"), (6, 18), "/stages/build/steps/0/secrets", "must be a map", None),
        invalid(step("name: [a]"), (6, 15), "/stages/build/steps/0/name", "must be a single value", None),
        invalid(qa("lease: 4h"), (3, 12), "/ephemeralEnvironments/qa-1/lease", "`lease` must be a map", None),
        // Keys with special characters, which are escaped according to RFC 6901.
        invalid(top("variables: {a/b~c: []}"), (1, 20), "/variables/a~1b~0c", "must be a single value", None),
    ]);
}

#[test]
fn unknown_and_double_fields() {
    check_table(&[
        invalid(top("name: x"), (1, 1), "/name", "unknown field `name` in the definition", None),
        invalid(top("enviroments: {}"), (1, 1), "/enviroments", "unknown field", Some("environments")),
        invalid(
            top("ephemeral_environments: {}"),
            (1, 1),
            "/ephemeral_environments",
            "",
            Some("ephemeralEnvironments"),
        ),
        invalid(
            top("runner: {pol: x}"),
            (1, 10),
            "/runner/pol",
            "unknown field `pol` in `runner`",
            Some("pool"),
        ),
        invalid(
            stage("need: [a]"),
            (4, 5),
            "/stages/build/need",
            "unknown field `need` in a stage",
            Some("needs"),
        ),
        invalid(
            stage("shell: bash"),
            (4, 5),
            "/stages/build/shell",
            "unknown field `shell` in a stage",
            None,
        ),
        invalid(
            only_step("imge: a"),
            (4, 9),
            "/stages/build/steps/0/imge",
            "unknown field `imge` in a step; did you mean `image`?",
            Some("image"),
        ),
        invalid(step("nmae: x"), (6, 9), "/stages/build/steps/0/nmae", "in a step", Some("name")),
        invalid(step("env: {A: b}"), (6, 9), "/stages/build/steps/0/env", "in a step", None),
        invalid(
            qa("on_release: [build]"),
            (3, 5),
            "/ephemeralEnvironments/qa-1/on_release",
            "in an ephemeral environment",
            Some("onRelease"),
        ),
        invalid(
            top("environments: {production: {force: {role: admin}}}"),
            (1, 29),
            "/environments/production/force",
            "unknown field `force` in an environment",
            None,
        ),
        invalid(
            "version: 1\nversion: 1",
            (2, 1),
            "/version",
            "`version` stands here for the second time",
            None,
        ),
        invalid(top("stages: {}"), (2, 1), "/stages", "`stages` stands here for the second time", None),
    ]);
}
