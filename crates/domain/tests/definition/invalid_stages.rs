//! Definitions that can be parsed but not run: stages and top-level fields.

use greenroom_domain::definition::parse;

use super::{check_diagnostic, check_table, invalid, stage, top};

#[test]
fn the_definition() {
    check_table(&[
        invalid("", (1, 1), "/stages", "a definition needs `stages`", None),
        invalid("# nothing\n", (1, 1), "/stages", "a definition needs `stages`", None),
        invalid("stages:", (1, 1), "/stages", "a definition needs `stages`", None),
        invalid("stages: {}", (1, 1), "/stages", "a definition needs `stages`", None),
        invalid(top("version: 2"), (1, 10), "/version", "`version` must be 1, not 2", None),
        invalid(top("concurrency: 0"), (1, 14), "/concurrency", "must be from 1 to 100, not 0", None),
        invalid(top("concurrency: 101"), (1, 14), "/concurrency", "must be from 1 to 100, not 101", None),
        invalid(top("runner: {}"), (1, 9), "/runner/pool", "a runner needs a `pool`", None),
        invalid(top("runner: {pool: Big}"), (1, 16), "/runner/pool", "not a valid pool name", Some("big")),
        invalid(top("variables: {1A: x}"), (1, 13), "/variables/1A", "not a valid variable name", None),
        invalid(top("variables: {a-b: x}"), (1, 13), "/variables/a-b", "not a valid variable name", None),
        invalid(top("variables: {GREENROOM_FENCE: 1}"), (1, 13), "/variables/GREENROOM_FENCE", "own", None),
        invalid(top("variables: {A: \"a\\0b\"}"), (1, 16), "/variables/A", "U+0000", None),
    ]);
}

#[test]
fn artifacts_and_caches() {
    let long = "a".repeat(129);
    check_table(&[
        invalid(
            stage("artifacts: [/etc]"),
            (4, 17),
            "/stages/build/artifacts/0",
            "within the workspace",
            None,
        ),
        invalid(stage("artifacts: [a/../../b]"), (4, 17), "/stages/build/artifacts/0", "within", None),
        invalid(stage("artifacts: [a, a]"), (4, 20), "/stages/build/artifacts/1", "listed twice", None),
        invalid(stage("artifacts: ['']"), (4, 17), "/stages/build/artifacts/0", "must not be empty", None),
        invalid(
            stage("caches: [{paths: [a]}]"),
            (4, 14),
            "/stages/build/caches/0/key",
            "needs a `key`",
            None,
        ),
        invalid(stage("caches: [{key: a}]"), (4, 14), "/stages/build/caches/0/paths", "needs `paths`", None),
        invalid(
            stage("caches: [{key: a, paths: []}]"),
            (4, 14),
            "/stages/build/caches/0/paths",
            "at least one path",
            None,
        ),
        invalid(
            stage("caches: [{key: a, paths: [../a]}]"),
            (4, 31),
            "/stages/build/caches/0/paths/0",
            "within the workspace",
            None,
        ),
        invalid(
            stage("caches: [{key: '..', paths: [a]}]"),
            (4, 20),
            "/stages/build/caches/0/key",
            "`..` is not a valid key",
            None,
        ),
        invalid(
            stage(&format!("caches: [{{key: {long}, paths: [a]}}]")),
            (4, 20),
            "/stages/build/caches/0/key",
            "1 to 128 characters",
            None,
        ),
        invalid(
            stage("caches: [{key: a, paths: [a]}, {key: a, paths: [b]}]"),
            (4, 42),
            "/stages/build/caches/1/key",
            "`a` is the key of two caches",
            None,
        ),
    ]);
}

#[test]
fn stages() {
    check_table(&[
        invalid("stages: {build: }", (1, 10), "/stages/build/steps", "stage `build` needs `steps`", None),
        invalid("stages: {build: {}}", (1, 10), "/stages/build/steps", "stage `build` needs `steps`", None),
        invalid("stages: {build: {steps: []}}", (1, 25), "/stages/build/steps", "at least one step", None),
        invalid(
            "stages: {Build It: {steps: [{image: a, run: b}]}}",
            (1, 10),
            "/stages/Build It",
            "not a valid stage name",
            Some("build-it"),
        ),
        invalid(stage("timeout: soon"), (4, 14), "/stages/build/timeout", "`soon` is not a duration", None),
        invalid(stage("timeout: 30"), (4, 14), "/stages/build/timeout", "`30` is not a duration", None),
        invalid(stage("timeout: 0s"), (4, 14), "/stages/build/timeout", "longer than nothing", None),
        invalid(stage("timeout: 24h 1s"), (4, 14), "/stages/build/timeout", "must be 24h at most", None),
        invalid(stage("name: ''"), (4, 11), "/stages/build/name", "must not be empty", None),
        invalid(stage("name: \"a\\nb\""), (4, 11), "/stages/build/name", "must be one line", None),
        invalid(
            stage("if: a =="),
            (4, 9),
            "/stages/build/if",
            "not a CEL expression: it ends too early",
            None,
        ),
        invalid(stage("if: ''"), (4, 9), "/stages/build/if", "is empty", None),
        invalid(stage("if: a = b"), (4, 9), "/stages/build/if", "at character 3", None),
        invalid(stage("if: (((((((a)))))))"), (4, 9), "/stages/build/if", "deeper than 6", None),
        invalid(
            stage("environment: production"),
            (4, 18),
            "/stages/build/environment",
            "`environments`",
            None,
        ),
        invalid(
            format!("environments: {{production: {{}}}}\n{}", stage("environment: prodution")),
            (5, 18),
            "/stages/build/environment",
            "stage `build` deploys to `prodution`",
            Some("production"),
        ),
        invalid(
            stage("needs: [build]"),
            (4, 13),
            "/stages/build/needs/0",
            "stage `build` needs itself",
            None,
        ),
        // `build` is not suggested: it is the stage itself.
        invalid(
            stage("needs: [biuld]"),
            (4, 13),
            "/stages/build/needs/0",
            "stage `build` needs `biuld`, which doesn't exist",
            None,
        ),
        invalid(
            "stages:\n  a: {needs: [b], steps: [{image: a, run: b}]}\n  b: {needs: [c], steps: [{image: a, run: b}]}\n  \
             c: {needs: [a], steps: [{image: a, run: b}]}",
            (4, 15),
            "/stages/c/needs/0",
            "in a circle: `a` → `b` → `c` → `a`",
            None,
        ),
        invalid(
            "stages:\n  a: {steps: [{image: a, run: b}]}\n  b: {needs: [a, a], steps: [{image: a, run: b}]}",
            (3, 18),
            "/stages/b/needs/1",
            "`a` is listed twice in `needs`",
            None,
        ),
    ]);
}

/// All problems of a parsed file are reported, in the order of the file.
#[test]
fn all_problems_are_reported() {
    let source = "\
version: 3
concurrency: 0
environments: { claim: {} }
stages:
  Build:
    needs: [bild]
    timeout: never
    steps:
      - { image: a }
      - { uses: nothing, secrets: { KEY: A B } }
  deploy:
    environment: prod
    if: '('
";
    let problems = parse(source).err().unwrap_or_default();
    problems.iter().for_each(check_diagnostic);
    let found: Vec<_> = problems.iter().map(|problem| (problem.line, problem.pointer.as_str())).collect();
    assert_eq!(
        found,
        [
            (1, "/version"),
            (2, "/concurrency"),
            (3, "/environments/claim"),
            (5, "/stages/Build"),
            (6, "/stages/Build/needs/0"),
            (7, "/stages/Build/timeout"),
            (9, "/stages/Build/steps/0/run"),
            (10, "/stages/Build/steps/1/uses"),
            (10, "/stages/Build/steps/1/secrets/KEY"),
            (11, "/stages/deploy/steps"),
            (12, "/stages/deploy/environment"),
            (13, "/stages/deploy/if"),
        ]
    );
}

#[test]
fn a_diagnostic_as_text_and_json() {
    let source =
        format!("{}  test: {{needs: [biuld], steps: [{{image: a, run: b}}]}}\n", stage("name: Build"));
    let problems = parse(&source).err().unwrap_or_default();
    let first = problems.first();
    assert_eq!(
        first.map(ToString::to_string).as_deref(),
        Some("line 5, column 18: stage `test` needs `biuld`, which doesn't exist; did you mean `build`?")
    );
    assert_eq!(
        serde_json::to_value(first).ok(),
        Some(serde_json::json!({
            "line": 5,
            "column": 18,
            "pointer": "/stages/test/needs/0",
            "message": "stage `test` needs `biuld`, which doesn't exist; did you mean `build`?",
            "expected": ["build"],
            "suggestion": "build",
        }))
    );
}
