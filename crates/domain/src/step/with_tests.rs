use super::*;
use crate::definition::{Definition, Diagnostic, parse};
use crate::step::Unresolved;
use crate::step::manifest::tests::full;

const GOOD: &str = "\
stages:
  release:
    steps:
      - uses: acme/roll-out@v2
        with: { image: 'app:1', replicas: 3 }
        secrets: { KUBECONFIG: prod }
";

fn definition(source: &str) -> Definition {
    parse(source).unwrap_or_else(|problems| panic!("{source}: {problems:?}"))
}

fn check(source: &str) -> Vec<Diagnostic> {
    let manifest = full();
    let find = |reference: &StepReference| match reference.name.as_str() {
        "roll-out" => Ok(&manifest),
        _ => Err(Unresolved::no_such_step(reference, ["roll-out"])),
    };
    definition(source).check_steps(source, &find).err().unwrap_or_default()
}

/// Returns `GOOD` with another text in the line with this number.
fn with_line(number: usize, line: &str) -> String {
    let lines = GOOD.lines().zip(1..);
    lines.map(|(text, at)| if at == number { format!("{line}\n") } else { format!("{text}\n") }).collect()
}

#[test]
fn a_correct_step_has_no_problems() {
    assert_eq!(check(GOOD), []);
    assert_eq!(check(&format!("\u{feff}{GOOD}")), []);
    assert_eq!(check("variables: { PATH: /bin }\nstages: { a: { steps: [{ image: a, run: b }] } }"), []);
}

#[test]
fn problems_have_their_positions() {
    const STEP: &str = "/stages/release/steps/0";
    let inputs = |text: &str| with_line(5, &format!("        with: {{ image: a, {text} }}"));
    let secrets = |text: &str| with_line(6, &format!("        secrets: {{ KUBECONFIG: prod, {text} }}"));
    let variables = |text: &str| format!("{GOOD}        variables: {{ {text} }}\n");
    for (source, line, column, pointer, message) in [
        (
            with_line(4, "      - uses: acme/rol-out@v2"),
            4,
            15,
            "/uses",
            "no step `rol-out`; did you mean `roll-out`?",
        ),
        (
            inputs("replica: 3"),
            5,
            27,
            "/with/replica",
            "`replica` is not an input of `acme/roll-out@v2`; did you mean `replicas`?",
        ),
        (inputs("replicas: two"), 5, 37, "/with/replicas", "`replicas` must be a whole number"),
        (inputs("replicas: '2'"), 5, 37, "/with/replicas", "without quotes"),
        (inputs("replicas: 2.0"), 5, 37, "/with/replicas", "whole number"),
        (inputs("replicas: 0"), 5, 37, "/with/replicas", "must be 1 at least"),
        (inputs("replicas: 11"), 5, 37, "/with/replicas", "must be 10 at most"),
        (inputs("strategy: roling"), 5, 37, "/with/strategy", "did you mean `rolling`?"),
        (inputs("note: 1.10"), 5, 33, "/with/note", "must be a text; put it in quotes"),
        (inputs("dry-run: 'true'"), 5, 36, "/with/dry-run", "`true` or `false`"),
        (
            with_line(5, "        with: { image: 'a; rm -rf /' }"),
            5,
            24,
            "/with/image",
            "must match the pattern",
        ),
        (
            with_line(5, &format!("        with: {{ image: {} }}", "a".repeat(256))),
            5,
            24,
            "/with/image",
            "255 characters at most",
        ),
        (with_line(5, "        with: { replicas: 3 }"), 4, 15, "/with/image", "needs the input `image`"),
        (with_line(5, ""), 4, 15, "/with/image", "needs the input `image`"),
        (with_line(6, "        secrets: {}"), 4, 15, "/secrets/KUBECONFIG", "needs the secret `KUBECONFIG`"),
        (secrets("REGISTRY_TOKE: x"), 6, 38, "/secrets/REGISTRY_TOKE", "did you mean `REGISTRY_TOKEN`?"),
        (secrets("LD_PRELOAD: x"), 6, 38, "/secrets/LD_PRELOAD", "is not a secret of"),
        (
            format!("{GOOD}        idTokens: {{ PATH: a }}\n"),
            7,
            21,
            "/idTokens/PATH",
            "is not an id token of",
        ),
        (variables("LD_PRELOAD: x"), 7, 22, "/variables/LD_PRELOAD", "dynamic loader"),
        (variables("BASH_ENV: x"), 7, 22, "/variables/BASH_ENV", "shells"),
    ] {
        let problems = check(&source);
        let [problem] = problems.as_slice() else { panic!("{source}: {problems:?}") };
        assert!(problem.message.contains(message), "{source}: {problem}");
        let at = (problem.line, problem.column, problem.pointer.clone());
        assert_eq!(at, (line, column, format!("{STEP}{pointer}")), "{source}");
    }
}

#[test]
fn suggestions_and_choices() {
    let unknown = &check(&with_line(4, "      - uses: acme/rol-out@v2"))[0];
    assert_eq!(unknown.suggestion.as_deref(), Some("acme/roll-out@v2"));
    let choice = &check(&with_line(5, "        with: { image: a, strategy: roling }"))[0];
    assert_eq!(choice.expected, ["rolling", "recreate"]);
    assert_eq!(choice.suggestion.as_deref(), Some("rolling"));
}

/// Variables of the pipeline, the stage and its environments are set for the step as well.
#[test]
fn inherited_variables() {
    let stage =
        GOOD.replace("    steps:", "    environment: production\n    variables: { PATH: x }\n    steps:");
    let source = format!(
        "\
variables: {{ LD_AUDIT: x, FINE: x }}
environments:
  production: {{ variables: {{ ENV: x }} }}
  staging: {{ variables: {{ ENV: x }} }}
ephemeralEnvironments:
  qa: {{ variables: {{ IFS: x }}, stages: [try] }}
  pr-*: {{ max: 3, variables: {{ PS4: x }}, stages: [try], onRelease: [undo] }}
{stage}
  try: {{ steps: [{{ image: a, run: b }}] }}
  undo: {{ steps: [{{ uses: acme/roll-out@v2, with: {{ image: a }}, secrets: {{ KUBECONFIG: a }} }}] }}
"
    );
    let pointers: Vec<String> = check(&source).into_iter().map(|problem| problem.pointer).collect();
    assert_eq!(
        pointers,
        [
            "/variables/LD_AUDIT",
            "/environments/production/variables/ENV",
            "/ephemeralEnvironments/pr-*/variables/PS4",
            "/stages/release/variables/PATH",
        ]
    );
}

/// A value that an alias brings is reported where it is used.
#[test]
fn aliases() {
    let source = format!(
        "variables: {{ A: &text many }}\n{}",
        with_line(5, "        with: { image: a, replicas: *text }")
    );
    let problems = check(&source);
    assert_eq!((problems[0].line, problems[0].column), (6, 37), "{problems:?}");
}

#[test]
fn many_different_steps() {
    let steps = |count: usize| -> String {
        let stage = |start: usize| {
            let steps = (start..count.min(start + 50)).map(|number| format!("{{ uses: acme/s{number}@v1 }}"));
            format!("  s{start}: {{ steps: [{}] }}\n", steps.collect::<Vec<_>>().join(", "))
        };
        format!("stages:\n{}", (0..count).step_by(50).map(stage).collect::<String>())
    };
    assert_eq!(definition(&steps(100)).step_references().len(), 100);
    let problems = parse(&steps(103)).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].message.contains("more than 100 different steps"), "{problems:?}");
}

#[test]
fn references_are_listed_once() {
    let source = "stages: { a: { steps: [{ uses: b/c@v1 }, { uses: a/b@v1 }, { image: a, run: b }, { uses: b/c@v1 }] } }";
    let references: Vec<String> =
        definition(source).step_references().iter().map(ToString::to_string).collect();
    assert_eq!(references, ["b/c@v1", "a/b@v1"]);
}

#[test]
fn what_the_step_gets() {
    let manifest = full();
    let definition = definition(GOOD);
    let StepWork::Registry { with, .. } = &definition.stages[0].steps[0].work else {
        panic!("not a registry")
    };
    let document = manifest.inputs_document(with);
    let expected = serde_json::json!({
        "image": "app:1", "replicas": 3, "ratio": 0.5, "strategy": "rolling", "dry-run": false
    });
    assert_eq!(document, expected);
    let variables: Vec<String> =
        manifest.input_variables(with).iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        variables,
        [
            "GREENROOM_INPUT_DRY_RUN=false",
            "GREENROOM_INPUT_IMAGE=app:1",
            "GREENROOM_INPUT_RATIO=0.5",
            "GREENROOM_INPUT_REPLICAS=3",
            "GREENROOM_INPUT_STRATEGY=rolling",
        ]
    );
    // An input that the step does not have is not passed on.
    let other = BTreeMap::from([("other".to_owned(), Scalar::Bool(true))]);
    assert!(!manifest.inputs_with_defaults(&other).contains_key("other"));
}
