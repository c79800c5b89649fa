use greenroom_domain::failure::VerdictKind;

use crate::fault::finding::Finding;
use crate::fault::verdicts::case::{CaseKind, Found, Observation, Planted};
use crate::fault::verdicts::judge::{Judgment, Measured, judge};

const MEASURED: Measured = Measured { planned: 140, evidence_seconds: Some(0.4), is_release: true };

/// Ten failures of each kind, two of each cause, all judged correctly.
fn right() -> Vec<Observation> {
    let kinds = CaseKind::ALL.iter().flat_map(|kind| [*kind; 10]).enumerate();
    let observation = |(number, kind): (usize, CaseKind)| {
        let cause = number / 2;
        let expected = if kind.is_outage() { VerdictKind::NotOnlyYou } else { VerdictKind::Yours };
        Observation {
            planted: Planted { kind, expected, cause, deployment: format!("dep_{number}"), step: None },
            found: Some(Found {
                verdict: expected,
                because: "good_before".to_owned(),
                fingerprint: format!("fp_{cause}"),
                decisive: format!("error {cause}"),
            }),
        }
    };
    kinds.map(observation).collect()
}

fn found(observation: &mut Observation) -> &mut Found {
    observation.found.as_mut().unwrap()
}

fn properties(observations: &[Observation], measured: Measured) -> (Judgment, Vec<&'static str>) {
    let (judgment, findings) = judge(observations, measured);
    let properties = findings.iter().map(|Finding { property, .. }| *property).collect();
    (judgment, properties)
}

#[test]
fn what_is_right_has_no_finding() {
    let (judgment, found) = properties(&right(), MEASURED);
    assert_eq!(found, Vec::<&str>::new());
    assert_eq!((judgment.deployments, judgment.right, judgment.right_rate), (140, 140, 1.0));
    assert_eq!((judgment.fingerprints_shared, judgment.fingerprints_collided), (1.0, 0.0));
    assert_eq!((judgment.causes, judgment.causes_seen_again), (70, 70));
    assert_eq!((judgment.void, judgment.wrong), (None, Vec::new()));
}

#[test]
fn wrong_verdicts_are_found_above_a_twentieth() {
    let mut observations = right();
    for observation in observations.iter_mut().take(7) {
        found(observation).verdict = VerdictKind::Environment;
    }
    let (judgment, properties_found) = properties(&observations, MEASURED);
    assert_eq!((judgment.right, properties_found), (133, Vec::new()));
    found(&mut observations[7]).verdict = VerdictKind::Environment;
    let (judgment, properties_found) = properties(&observations, MEASURED);
    assert_eq!((judgment.right, properties_found), (132, vec!["V1"]));
    assert_eq!(judgment.wrong.len(), 8);
    assert_eq!(judgment.by_kind[&CaseKind::OwnCommit].right, 2);
}

#[test]
fn missing_evidence_is_wrong() {
    let mut observations = right();
    observations.iter_mut().take(8).for_each(|observation| observation.found = None);
    let (judgment, found) = properties(&observations, MEASURED);
    assert_eq!((judgment.right, found), (132, vec!["V1"]));
}

#[test]
fn one_outage_that_is_called_yours_is_found() {
    for kind in [CaseKind::Outage, CaseKind::OutageInOnePipeline] {
        let mut observations = right();
        let outage = observations.iter_mut().find(|observation| observation.planted.kind == kind).unwrap();
        found(outage).verdict = VerdictKind::Yours;
        let (judgment, properties) = properties(&observations, MEASURED);
        assert_eq!((judgment.outages_called_yours, properties), (1, vec!["V2"]));
    }
}

#[test]
fn equal_failures_with_different_fingerprints_are_found() {
    let mut observations = right();
    for number in 0..3 {
        found(&mut observations[number * 2]).fingerprint = format!("fp_other_{number}");
    }
    let (judgment, properties) = properties(&observations, MEASURED);
    assert_eq!((judgment.fingerprints_shared, properties.len()), (0.957, 0));
    found(&mut observations[6]).fingerprint = "fp_other".to_owned();
    let (judgment, properties) = self::properties(&observations, MEASURED);
    assert_eq!((judgment.fingerprints_shared, properties), (0.943, vec!["V3"]));
}

#[test]
fn different_failures_with_the_same_fingerprint_are_found() {
    let mut observations = right();
    for observation in observations.iter_mut().take(4) {
        found(observation).fingerprint = "fp_same".to_owned();
    }
    let (judgment, properties) = properties(&observations, MEASURED);
    assert_eq!((judgment.fingerprints_shared, judgment.fingerprints_collided), (1.0, 0.029));
    assert_eq!(properties, ["V4"]);
}

#[test]
fn late_evidence_of_a_release_build_is_found() {
    let late = Measured { evidence_seconds: Some(1.01), ..MEASURED };
    assert_eq!(properties(&right(), late).1, ["V5"]);
    let debug = Measured { is_release: false, ..late };
    assert_eq!(properties(&right(), debug).1, Vec::<&str>::new());
}

#[test]
fn a_run_without_enough_failures_is_void() {
    let mut few = right();
    few.truncate(132);
    assert!(properties(&few, MEASURED).0.void.unwrap().contains("132 of 140"));
    let mut without_flakes = right();
    without_flakes.retain(|observation| observation.planted.kind != CaseKind::FlakeRetried);
    let planned = Measured { planned: without_flakes.len(), ..MEASURED };
    assert!(properties(&without_flakes, planned).0.void.unwrap().contains("FlakeRetried"));
    assert!(properties(&[], MEASURED).0.void.is_some());
}
