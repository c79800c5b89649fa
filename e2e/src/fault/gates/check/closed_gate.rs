//! G5 and G6: nothing begins against a hold or during a freeze. Only what is certain is judged. A step's start is
//! recorded within the transaction that checks the gate, after it has locked the environment and the freezes. So a
//! start that is recorded after the response to a hold or a freeze was checked after it, and one that is recorded
//! before the request that ends it was checked before that.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::check::{CLOCK_MARGIN, short};
use crate::fault::deployments::ledger::{JobRow, StepRow};
use crate::fault::finding::Finding;
use crate::fault::gates::check::{Evidence, name};
use crate::fault::gates::history::{Freeze, Hold, Place};

/// A freeze that begins by the clock: the check reads the clock, and records the start later.
const MAX_CHECK: Micros = SECOND;

/// The first start of a step in an attempt of a stage.
struct Begin<'a> {
    place: Place,
    job: &'a JobRow,
    at: Micros,
}

/// G5: the first step of a deployment in an environment does not start while another user holds it. A deployment that
/// has begun there goes on.
pub(super) fn check_holds(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut begun: HashMap<(Uuid, Place, usize), Begin<'_>> = HashMap::new();
    for begin in begins(evidence) {
        let deployment = begin.job.deployment;
        let key = (deployment, begin.place, evidence.retries_before(deployment, begin.at));
        let first = begun.entry(key).or_insert_with(|| Begin { ..begin });
        if begin.at < first.at {
            *first = begin;
        }
    }
    let mut findings = Vec::new();
    for begin in begun.values() {
        let is_against = |hold: &&Hold| {
            hold.place == begin.place
                && !evidence.may_be_of(begin.job.deployment, hold.user)
                && hold.acknowledged_at + CLOCK_MARGIN < begin.at
                && begin.at < hold.until
                && hold.lifted_at.is_none_or(|lifted| begin.at + CLOCK_MARGIN < lifted)
        };
        if let Some(hold) = evidence.history.holds.iter().find(is_against) {
            findings.push(finding("G5", begin, "against a hold", hold.acknowledged_at));
        }
    }
    findings
}

/// G6: the first step of no stage starts during a freeze.
pub(super) fn check_freezes(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for begin in begins(evidence) {
        let is_during = |freeze: &&Freeze| {
            freeze.place == begin.place
                && (freeze.acknowledged_at + CLOCK_MARGIN).max(freeze.from + MAX_CHECK) < begin.at
                && begin.at < freeze.to
                && freeze.lifted_at.is_none_or(|lifted| begin.at + CLOCK_MARGIN < lifted)
        };
        if let Some(freeze) = evidence.history.freezes.iter().find(is_during) {
            findings.push(finding("G6", &begin, "during a freeze", freeze.acknowledged_at));
        }
    }
    findings
}

/// Returns when the attempts of stages in lasting environments have begun.
fn begins<'a>(evidence: &Evidence<'a>) -> Vec<Begin<'a>> {
    let mut first: HashMap<Uuid, Micros> = HashMap::new();
    let started = |step: &StepRow| Some((step.job, step.started_at?));
    for (job, at) in evidence.ledger.steps.iter().filter_map(started) {
        let earliest = first.entry(job).or_insert(at);
        *earliest = at.min(*earliest);
    }
    let begin = |job: &'a JobRow| {
        let environment = *evidence.gates.stage_environments.get(&(job.deployment, job.stage.clone()))?;
        let slug = &evidence.deployments.get(&job.deployment)?.pipeline;
        let place =
            evidence.places().find(|place| place.pipeline == slug && place.environment == environment)?;
        Some(Begin { place, job, at: *first.get(&job.id)? })
    };
    evidence.ledger.jobs.iter().filter_map(begin).collect()
}

fn finding(property: &'static str, begin: &Begin<'_>, what: &str, since: Micros) -> Finding {
    let (job, place) = (begin.job, name(begin.place));
    let text = format!(
        "{place}: {}/{}/{} began {what}, {:.3} s after it was acknowledged",
        short(job.deployment),
        job.stage,
        job.attempt,
        (begin.at - since) as f64 / SECOND as f64
    );
    Finding::new(property, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::check::sample::{HOLDER, PLACE, Sample, id};

    fn hold(from: i64, until: i64) -> Hold {
        let (acknowledged_at, until) = (from * SECOND, until * SECOND);
        Hold { place: PLACE, user: HOLDER, acknowledged_at, until, lifted_at: None }
    }

    fn freeze(from: i64, to: i64) -> Freeze {
        let (from, to) = (from * SECOND, to * SECOND);
        Freeze { place: PLACE, acknowledged_at: from, from: 0, to, lifted_at: None }
    }

    #[test]
    fn no_deployment_of_another_user_begins_against_a_hold() {
        let mut sample = Sample::good();
        sample.history.holds.push(hold(19, 30));
        assert_eq!(sample.found(check_holds), ["G5"]);
        sample.history.holds[0].lifted_at = Some(20 * SECOND);
        assert!(sample.found(check_holds).is_empty(), "its end was requested before");
        sample.history.holds[0] = Hold { user: id(102), ..hold(19, 30) };
        assert!(sample.found(check_holds).is_empty(), "the deployment is the holder's");
        sample.history.holds[0] = hold(21, 30);
        assert!(sample.found(check_holds).is_empty(), "it had begun before, and goes on");
        sample.history.holds[0] = hold(15, 19);
        assert!(sample.found(check_holds).is_empty(), "it has ended by itself");
    }

    #[test]
    fn no_stage_begins_during_a_freeze() {
        let mut sample = Sample::good();
        sample.history.freezes.push(freeze(23, 30));
        assert_eq!(sample.found(check_freezes), ["G6"], "a deployment that has begun does not go on");
        sample.history.freezes[0].lifted_at = Some(24 * SECOND);
        assert!(sample.found(check_freezes).is_empty(), "its end was requested before");
        sample.history.freezes[0] = freeze(25, 30);
        assert!(sample.found(check_freezes).is_empty(), "what runs goes on");
        sample.history.freezes[0] = Freeze { from: 24 * SECOND, ..freeze(22, 30) };
        assert!(sample.found(check_freezes).is_empty(), "it has just begun");
    }
}
