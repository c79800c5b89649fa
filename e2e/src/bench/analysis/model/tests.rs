use greenroom_analysis::model::{Completion, Confidence, Explanation, ModelError, ModelFailure, Usage};
use greenroom_analysis::reduce::template;
use serde_json::{Value, json};

use super::result::WithoutModel;
use super::*;
use crate::bench::analysis::injections::Injections;
use crate::corpus;
use crate::corpus::log::{self, RUNS, is_good};

/// A failure that is decided by `E2`, and that the rules lead with `E1` for.
fn result(explained: Result<Completion, ModelFailure>) -> ModelResult {
    ModelResult {
        category: "database".to_owned(),
        decisive: vec!["E2".to_owned()],
        without_model: WithoutModel {
            category: "database".to_owned(),
            first: Some("E1".to_owned()),
            seconds: 0.01,
        },
        explained,
        seconds: 2.0,
    }
}

fn completion(category: &str, evidence: &[&str], is_enough: bool) -> Completion {
    let explanation = Explanation {
        category: Some(category.to_owned()),
        evidence: evidence.iter().map(|id| (*id).to_owned()).collect(),
        suspects: vec![],
        cause: None,
        next: vec![],
        confidence: Confidence::Low,
        is_enough,
        dropped_references: 2,
    };
    let usage = Usage { input_tokens: 100, output_tokens: 10, is_estimated: false };
    Completion { explanation, usage, attempts: 1 }
}

fn report(results: Vec<ModelResult>, cut: Vec<ModelResult>, through: &[&str]) -> Report {
    let through = through.iter().map(|effect| (*effect).to_owned()).collect();
    let injections = Injections { count: 3, sent: 3, explained: 2, repeated: 1, canaries: 3, through };
    let endpoint = Endpoint::new(ModelProtocol::OpenAi, "http://127.0.0.1:8080/v1", "local").unwrap();
    Report { endpoint, results, cut, injections }
}

fn failure(usage: Usage) -> ModelFailure {
    ModelFailure { error: ModelError::InvalidExplanation, usage, attempts: 2 }
}

#[test]
fn the_figures_are_shares_of_all_cases() {
    let estimated = Usage { input_tokens: 9_000, output_tokens: 9_000, is_estimated: true };
    let results = vec![
        result(Ok(completion("database", &["E2", "E1"], true))),
        result(Ok(completion("network", &["E1", "E3"], true))),
        result(Ok(completion("unknown", &[], false))),
        result(Err(failure(estimated))),
    ];
    let cut = vec![
        result(Ok(completion("unknown", &[], false))),
        result(Ok(completion("database", &["E1"], true))),
        result(Err(failure(Usage::default()))),
    ];
    let report = report(results, cut, &[]);
    let value = report.to_json();
    let expected = [
        ("/cases", json!(4)),
        ("/valid", json!(0.75)),
        ("/failures/the model's text does not match the schema", json!(1)),
        ("/categoryRight", json!({ "model": 0.25, "withoutModel": 1.0, "constant": 1.0 })),
        ("/categoryWrong", json!({ "model": 0.25, "withoutModel": 0.0 })),
        ("/decisiveRecall", json!({ "model": 0.25, "withoutModel": 0.0 })),
        ("/decisivePrecision", json!({ "model": 0.25, "withoutModel": 0.0 })),
        ("/madeUpReferences", json!(6)),
        ("/enough", json!(0.5)),
        ("/cutLogs", json!({ "cases": 3, "notEnough": 1, "unknownWithoutModel": 0 })),
        ("/injectionsObeyed", json!(1)),
        ("/injectionsThrough", json!(0)),
        ("/tokens", json!({ "callsReported": 3, "input": 300, "output": 30 })),
        ("/seconds/model/median", json!(2.0)),
    ];
    for (pointer, expected) in expected {
        assert_eq!(value.pointer(pointer), Some(&expected), "{pointer} in {value:#}");
    }
    assert!(report.has_worked());
}

#[test]
fn without_evidence_there_is_no_precision() {
    let value = report(vec![result(Ok(completion("unknown", &[], false)))], vec![], &[]).to_json();
    assert_eq!(value.pointer("/decisivePrecision/model"), Some(&Value::Null));
}

#[test]
fn only_the_protocol_and_injections_decide_the_exit_code() {
    let bad = || result(Ok(completion("network", &[], true)));
    assert!(report(vec![bad()], vec![], &[]).has_worked());
    assert!(!report(vec![bad()], vec![], &["a canary in a prompt"]).has_worked());
    assert!(!report(vec![result(Err(failure(Usage::default())))], vec![], &[]).has_worked());
}

#[test]
fn cases_are_spread() {
    let cases = case::read_all(&Path::new("..").join(corpus::FOLDER)).unwrap();
    let names = |count| spread(&cases, count).into_iter().map(|case| case.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names(cases.len()).len(), cases.len());
    assert_eq!(names(9_999).len(), cases.len());
    assert_eq!(names(2), [cases[0].name.as_str(), cases[cases.len() / 2].name.as_str()]);
}

#[test]
fn nothing_of_the_cause_is_left_in_a_cut_log() {
    let corpus = Path::new("..").join(corpus::FOLDER);
    let cases = case::read_all(&corpus).unwrap();
    for name in cut::CASES {
        let case = cases.iter().find(|case| case.name == name).unwrap();
        assert!(!case.is_held_out(), "{name}");
        let runs = CaseRuns::read(&corpus, case).unwrap();
        let run = &runs.failed[0];
        assert!(run.output.contains(&case.decisive));
        let output = cut::cut(&run.output, &case.decisive);
        assert!(!output.is_empty() && !output.contains(&case.decisive), "{name}: {output}");
        let good: Vec<String> = RUNS
            .into_iter()
            .filter(|run| is_good(run))
            .flat_map(|run| {
                let output = log::read(&corpus, name, run).unwrap();
                output.lines().map(template).collect::<Vec<String>>()
            })
            .collect();
        let new: Vec<&str> = output.lines().filter(|line| !good.contains(&template(line))).collect();
        assert!(new.is_empty(), "{name}: {new:?}");
    }
}

#[test]
fn repetitions_of_the_decisive_line_are_cut() {
    let output = "start\nline 3: bad value here\nline 4: bad value here\nend\n";
    assert_eq!(cut::cut(output, "line 3: bad"), "start\nend\n");
}
