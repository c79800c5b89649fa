use super::*;
use crate::definition::Scalar;

const IMAGE: &str = "tools/kubectl@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

const FULL: &str = r#"
name: roll-out
description: |
  Rolls out an image.
inputs:
  image: { type: string, required: true, pattern: "^[a-z0-9./:@-]+$", maxLength: 255 }
  replicas: { type: integer, default: 2, minimum: 1, maximum: 10, description: How many }
  ratio: { type: number, default: 0.5, minimum: 0, maximum: 1 }
  strategy: { type: string, enum: [rolling, recreate], default: rolling }
  dry-run: { type: boolean, default: false }
  note: { type: string }
secrets:
  KUBECONFIG: { description: The cluster, required: true }
  REGISTRY_TOKEN: {}
idTokens:
  AWS_WEB_IDENTITY_TOKEN_FILE: {}
outputs:
  url: { description: Where it runs }
image: IMAGE
run: |
  ./bin/roll-out
"#;

pub(crate) fn full() -> StepManifest {
    let text = FULL.replace("IMAGE", IMAGE);
    StepManifest::parse(&text, Some("roll-out")).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// A manifest with these lines, the first of which is line 4.
fn with(lines: &str) -> String {
    format!("name: a\nimage: {IMAGE}\nrun: x\n{lines}\n")
}

#[test]
fn full_manifest() {
    let manifest = full();
    assert_eq!(manifest.image, IMAGE);
    assert_eq!(manifest.run, "./bin/roll-out\n");
    let names: Vec<&str> = manifest.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["image", "replicas", "ratio", "strategy", "dry-run", "note"]);
    assert_eq!(manifest.input("replicas").unwrap().default, Some(Scalar::Number(2.into())));
    assert_eq!(manifest.input("dry-run").unwrap().default, Some(Scalar::Bool(false)));
    assert!(manifest.input("image").unwrap().required && !manifest.input("note").unwrap().required);
    assert!(manifest.secrets[0].required && !manifest.secrets[1].required);
    assert_eq!(manifest.id_tokens[0].name, "AWS_WEB_IDENTITY_TOKEN_FILE");
    assert_eq!(manifest.outputs[0].description.as_deref(), Some("Where it runs"));
    let stored = serde_json::to_value(&manifest).unwrap();
    assert_eq!(serde_json::from_value::<StepManifest>(stored).unwrap(), manifest);
    let empty = StepManifest::parse(&with("secrets: { A: }"), None).unwrap();
    assert!(!empty.secrets[0].required);
    let minimal = StepManifest::parse(&with(""), None).unwrap();
    assert!(minimal.inputs.is_empty() && minimal.secrets.is_empty() && minimal.description.is_none());
}

#[test]
fn invalid_manifests() {
    for (source, line, column, pointer, message) in [
        (
            with("inptus: {}"),
            4,
            1,
            "/inptus",
            "unknown field `inptus` in the manifest; did you mean `inputs`?",
        ),
        (
            with("inputs: { x: { tpye: string } }"),
            4,
            16,
            "/inputs/x/tpye",
            "in an input; did you mean `type`?",
        ),
        (with("inputs: { x: { type: string, $ref: a } }"), 4, 30, "/inputs/x/$ref", "unknown field `$ref`"),
        (with("steps: []"), 4, 1, "/steps", "unknown field"),
        (with("secrets: [A]"), 4, 10, "/secrets", "must be a map"),
        ("image: a\n---\n".to_owned() + &with(""), 2, 1, "", "the manifest is one YAML document"),
        ("name: a\nname: b\n".to_owned(), 2, 1, "/name", "second time"),
        (with("description: \u{202e}x"), 4, 14, "", "U+202E"),
    ] {
        let problems = StepManifest::parse(&source, None).unwrap_err();
        let [problem] = problems.as_slice() else { panic!("{source}: {problems:?}") };
        assert!(problem.message.contains(message), "{source}: {problem}");
        assert_eq!(
            (problem.line, problem.column, problem.pointer.as_str()),
            (line, column, pointer),
            "{source}"
        );
    }
}

#[test]
fn rejected_values() {
    let input = |rules: &str| with(&format!("inputs: {{ x: {{ {rules} }} }}"));
    let many: String = (0..101).map(|number| format!("  v{number}: {{ type: string }}\n")).collect();
    let tokens: String = (0..11).map(|number| format!("  V{number}: {{}}\n")).collect();
    for (source, pointer, message) in [
        (input(""), "/inputs/x/type", "needs a `type`"),
        (input("type: strin"), "/inputs/x/type", "did you mean `string`?"),
        (input("type: object"), "/inputs/x/type", "not a type"),
        (input("type: boolean, enum: [true]"), "/inputs/x/enum", "can't have `enum`"),
        (input("type: integer, pattern: a"), "/inputs/x/pattern", "can't have `pattern`"),
        (input("type: string, minimum: 1"), "/inputs/x/minimum", "can't have `minimum`"),
        (input("type: number, maxLength: 1"), "/inputs/x/maxLength", "can't have `maxLength`"),
        (input("type: string, enum: []"), "/inputs/x/enum", "at least one"),
        (input("type: string, enum: [a, a]"), "/inputs/x/enum/1", "listed twice"),
        (input("type: number, enum: [1, 1.0]"), "/inputs/x/enum/1", "listed twice"),
        (input("type: string, enum: [a, 1]"), "/inputs/x/enum/1", "must be a text"),
        (input("type: string, pattern: '['"), "/inputs/x/pattern", "not a regular expression"),
        (input("type: string, pattern: '(a{1000}){1000}'"), "/inputs/x/pattern", "too much memory"),
        (input("type: string, minLength: 3, maxLength: 2"), "/inputs/x/maxLength", "no value"),
        (input("type: string, minLength: -1"), "/inputs/x/minLength", "whole number"),
        (input("type: number, minimum: 3, maximum: 2.5"), "/inputs/x/maximum", "no value"),
        (input("type: integer, minimum: 0.5"), "/inputs/x/minimum", "whole number"),
        (input("type: number, minimum: '1'"), "/inputs/x/minimum", "without quotes"),
        (input("type: integer, default: two"), "/inputs/x/default", "whole number"),
        (input("type: string, default: 1.10"), "/inputs/x/default", "in quotes"),
        (input("type: boolean, default: yes"), "/inputs/x/default", "`true` or `false`"),
        (input("type: integer, default: 11, maximum: 10"), "/inputs/x/default", "must be 10 at most"),
        (input("type: string, default: c, enum: [a, b]"), "/inputs/x/default", "not one of"),
        (input("type: string, default: a, required: true"), "/inputs/x/default", "can't have a `default`"),
        (input("type: string, required: yes"), "/inputs/x/required", "`true` or `false`"),
        (with("inputs: { 1x: { type: string } }"), "/inputs/1x", "not a valid name"),
        (
            with("inputs: { a-b: { type: string }, A_b: { type: string } }"),
            "/inputs/A_b",
            "GREENROOM_INPUT_A_B",
        ),
        (with(&format!("inputs:\n{many}")), "/inputs", "100 is the most"),
        (with("secrets: { LD_PRELOAD: {} }"), "/secrets/LD_PRELOAD", "dynamic loader"),
        (with("secrets: { PATH: {} }"), "/secrets/PATH", "can't be a variable"),
        (with("idTokens: { BASH_ENV: {} }"), "/idTokens/BASH_ENV", "shells"),
        (with("secrets: { GREENROOM_X: {} }"), "/secrets/GREENROOM_X", "Greenroom's own"),
        (with("secrets: { a-b: {} }"), "/secrets/a-b", "not a valid variable name"),
        (with("secrets: { A: {} }\nidTokens: { A: {} }"), "/idTokens/A", "a secret of this step already"),
        (with(&format!("idTokens:\n{tokens}")), "/idTokens", "10 is the most"),
        (with("outputs: { a-b: {} }"), "/outputs/a-b", "not a valid name of an output"),
        (format!("image: {IMAGE}\nrun: x\n"), "/name", "needs a `name`"),
        ("name: a\nrun: x\n".to_owned(), "/image", "needs an `image`"),
        (format!("name: a\nimage: {IMAGE}\n"), "/run", "needs `run`"),
        (format!("name: A B\nimage: {IMAGE}\nrun: x\n"), "/name", "did you mean `a-b`?"),
        ("name: a\nimage: rust:1.95\nrun: x\n".to_owned(), "/image", "by digest"),
        ("name: a\nimage: rust@sha256:abc\nrun: x\n".to_owned(), "/image", "by digest"),
        ("name: a\nimage: -v/:/host\nrun: x\n".to_owned(), "/image", "not the name of an image"),
        (format!("name: a\nimage: x@{IMAGE}\nrun: x\n"), "/image", "by digest"),
    ] {
        let problems = StepManifest::parse(&source, None).unwrap_err();
        let [problem] = problems.as_slice() else { panic!("{source}: {problems:?}") };
        assert!(problem.message.contains(message), "{source}: {problem}");
        assert_eq!(problem.pointer, pointer, "{source}");
    }
}

#[test]
fn name_of_the_tag() {
    let problems = StepManifest::parse(&with(""), Some("b")).unwrap_err();
    assert!(problems[0].message.contains("`a` is published by a tag of `b`"), "{problems:?}");
}

/// Every name of a manifest's file is bounded in what it may expand to.
#[test]
fn alias_bombs_are_rejected() {
    let mut bomb = "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..9 {
        let list = vec![format!("*x{}", level - 1); 10].join(", ");
        bomb += &format!("x{level}: &x{level} [{list}]\n");
    }
    let problems = StepManifest::parse(&bomb, None).unwrap_err();
    assert_eq!(problems.len(), 1);
    let deep = with(&format!("description: {}{}", "[".repeat(5_000), "]".repeat(5_000)));
    assert!(StepManifest::parse(&deep, None).unwrap_err()[0].message.contains("nests deeper"));
}

/// Our checks of values give the results of JSON Schema.
#[test]
fn json_schema_agrees() {
    let manifest = full();
    let validator = jsonschema::validator_for(&manifest.inputs_schema()).unwrap();
    let number = |text: &str| Scalar::Number(text.parse().unwrap());
    let text = |text: &str| Scalar::Text(text.to_owned());
    let values = [
        Scalar::Bool(true),
        number("0"),
        number("1"),
        number("-1"),
        number("10"),
        number("11"),
        number("0.25"),
        number("-0.0"),
        number("1.5"),
        number("18446744073709551615"),
        text(""),
        text("1"),
        text("true"),
        text("rolling"),
        text("rollin"),
        text("app:1.2"),
        text("App"),
        text("a\n"),
        text(&"a".repeat(255)),
        text(&"a".repeat(256)),
    ];
    let mut accepted = 0;
    for input in &manifest.inputs {
        for value in &values {
            let document = json!({ "image": "a", (input.name.as_str()): value });
            let is_valid = validator.is_valid(&document);
            // JSON Schema counts -0.0 as whole. Here a whole number has no fraction.
            if input.name == "replicas" && *value == number("-0.0") {
                continue;
            }
            assert_eq!(input.check(value).is_ok(), is_valid, "{} = {value:?}", input.name);
            accepted += usize::from(is_valid);
        }
    }
    assert!(accepted > 20, "{accepted}");
    assert!(!validator.is_valid(&json!({})), "a required input is missing");
    assert!(!validator.is_valid(&json!({ "image": "a", "other": 1 })), "an unknown input");
}
