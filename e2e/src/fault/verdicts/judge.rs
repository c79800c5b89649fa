//! Compares verdicts and fingerprints with what was planted. Pure.

use std::collections::{BTreeMap, BTreeSet};

use greenroom_domain::failure::VerdictKind;
use serde::Serialize;

use crate::fault::finding::Finding;
use crate::fault::verdicts::case::{CaseKind, Observation};

pub(super) const MIN_RIGHT: f64 = 0.95;
pub(super) const MIN_SHARED: f64 = 0.95;
pub(super) const MAX_COLLIDED: f64 = 0.02;
pub(super) const MAX_EVIDENCE_SECONDS: f64 = 1.0;
/// The least share of the planned failures that has to occur.
const MIN_OCCURRED: f64 = 0.95;
const MAX_WRONG: usize = 20;

/// What was planned, and what was measured apart from the failures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// How many deployments were to fail.
    pub(super) planned: usize,
    /// From the end of a step that prints 10 MB until its evidence could be read, the longest; `None` if not measured.
    pub(super) evidence_seconds: Option<f64>,
    /// The bar of that time holds for a release build.
    pub(super) is_release: bool,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Judgment {
    /// The deployments that have failed as planned.
    pub(super) deployments: usize,
    pub(super) right: usize,
    pub(super) right_rate: f64,
    pub(super) outages_called_yours: usize,
    /// Of the causes that occurred more than once, the share whose failures all have the same fingerprint.
    pub(super) fingerprints_shared: f64,
    /// Of all causes, the share with a fingerprint that another cause has too.
    pub(super) fingerprints_collided: f64,
    pub(super) causes: usize,
    pub(super) causes_seen_again: usize,
    pub(super) by_kind: BTreeMap<CaseKind, KindCount>,
    /// The first wrong verdicts and fingerprints.
    pub(super) wrong: Vec<String>,
    pub(super) void: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct KindCount {
    pub(super) deployments: usize,
    pub(super) right: usize,
}

pub(super) fn judge(observations: &[Observation], measured: Measured) -> (Judgment, Vec<Finding>) {
    let mut judgment = Judgment { deployments: observations.len(), ..Judgment::default() };
    let mut wrong = Vec::new();
    for Observation { planted, found } in observations {
        let count = judgment.by_kind.entry(planted.kind).or_default();
        count.deployments += 1;
        let verdict = found.as_ref().map(|found| found.verdict);
        if verdict == Some(planted.expected) {
            count.right += 1;
            judgment.right += 1;
        } else {
            let text = found.as_ref().map_or_else(
                || "no evidence".to_owned(),
                |found| format!("{} because of {}: {}", found.verdict, found.because, found.decisive),
            );
            wrong.push(format!(
                "{:?} {}: {} expected, {text}",
                planted.kind, planted.deployment, planted.expected
            ));
        }
        if planted.kind.is_outage() && verdict == Some(VerdictKind::Yours) {
            judgment.outages_called_yours += 1;
        }
    }
    judgment.right_rate = share(judgment.right, judgment.deployments);
    judge_fingerprints(observations, &mut judgment, &mut wrong);
    judgment.wrong = wrong.into_iter().take(MAX_WRONG).collect();
    judgment.void = void(&judgment, measured);
    let findings = findings(&judgment, measured);
    (judgment, findings)
}

fn judge_fingerprints(observations: &[Observation], judgment: &mut Judgment, wrong: &mut Vec<String>) {
    let mut of_cause: BTreeMap<usize, Vec<(&str, &str)>> = BTreeMap::new();
    let mut of_fingerprint: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for Observation { planted, found } in observations {
        let Some(found) = found else { continue };
        let seen = of_cause.entry(planted.cause).or_default();
        seen.push((&found.fingerprint, &found.decisive));
        of_fingerprint.entry(&found.fingerprint).or_default().insert(planted.cause);
    }
    let mut shared = 0;
    for seen in of_cause.values().filter(|seen| seen.len() > 1) {
        judgment.causes_seen_again += 1;
        let distinct: BTreeMap<&str, &str> = seen.iter().copied().collect();
        if distinct.len() == 1 {
            shared += 1;
        } else {
            wrong.push(format!("equal failures have different fingerprints: {distinct:?}"));
        }
    }
    let mut collided = BTreeSet::new();
    for (fingerprint, causes) in of_fingerprint.iter().filter(|(_, causes)| causes.len() > 1) {
        let decisive = of_cause.values().flatten().find(|(other, _)| other == fingerprint);
        let decisive = decisive.map(|(_, decisive)| *decisive).unwrap_or_default();
        wrong.push(format!("{} different failures have the fingerprint of {decisive:?}", causes.len()));
        collided.extend(causes.iter().copied());
    }
    judgment.causes = of_cause.len();
    judgment.fingerprints_shared = share(shared, judgment.causes_seen_again);
    judgment.fingerprints_collided = share(collided.len(), judgment.causes);
}

fn findings(judgment: &Judgment, measured: Measured) -> Vec<Finding> {
    let Judgment { right_rate, fingerprints_shared, fingerprints_collided, .. } = judgment;
    let mut findings = Vec::new();
    let mut require = |holds: bool, property: &'static str, text: String| {
        if !holds {
            findings.push(Finding::new(property, text));
        }
    };
    require(*right_rate >= MIN_RIGHT, "V1", format!("{right_rate} of the verdicts are right"));
    let outages = judgment.outages_called_yours;
    require(outages == 0, "V2", format!("{outages} failures by an outage are called `yours`"));
    let text = format!("{fingerprints_shared} of the causes seen again have one fingerprint");
    require(*fingerprints_shared >= MIN_SHARED, "V3", text);
    let text = format!("{fingerprints_collided} of the causes have the fingerprint of another one");
    require(*fingerprints_collided <= MAX_COLLIDED, "V4", text);
    let seconds = measured.evidence_seconds.unwrap_or_default();
    let text = format!("the evidence of a step with a log of 10 MB could be read after {seconds} s");
    require(seconds <= MAX_EVIDENCE_SECONDS || !measured.is_release, "V5", text);
    findings
}

/// Returns why the run proves nothing.
fn void(judgment: &Judgment, measured: Measured) -> Option<String> {
    let (occurred, planned) = (judgment.deployments, measured.planned);
    if share(occurred, planned) < MIN_OCCURRED {
        return Some(format!("only {occurred} of {planned} deployments have failed as planned"));
    }
    let missing: Vec<_> = CaseKind::ALL.iter().filter(|kind| !judgment.by_kind.contains_key(kind)).collect();
    if !missing.is_empty() {
        return Some(format!("no failure of the kinds {missing:?}"));
    }
    (judgment.causes_seen_again == 0).then(|| "no cause was seen again".to_owned())
}

/// Returns a share, rounded to three decimals.
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64 * 1_000.0).round() / 1_000.0 }
}
