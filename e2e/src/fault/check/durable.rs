//! L12: what was acknowledged is in the database, and sessions are numbered without gaps. L10: clients that
//! have gone hold nothing and wait for nothing.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::{Kind, Op};

/// The harness and PostgreSQL use the same clock, but read it at different moments.
const MARGIN: Micros = SECOND / 20;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let deployments: HashSet<Uuid> = evidence.ledger.deployments.iter().map(|row| row.id).collect();
    let mut findings: Vec<Finding> = (evidence.ops.iter())
        .filter_map(|op| unrecorded(evidence, op, &deployments))
        .map(|text| Finding::new("L12", text))
        .collect();
    findings.extend(numbering(evidence));
    let live = evidence.ledger.environments.iter().filter(|row| row.held || row.waiters > 0);
    findings.extend(live.map(|row| {
        let text =
            format!("environment {} is held: {}, waited for by {}", row.environment, row.held, row.waiters);
        Finding::new("L10", text)
    }));
    let alive = evidence.ledger.sessions.iter().filter(|row| row.ended_at.is_none());
    findings.extend(
        alive.map(|row| Finding::new("L10", format!("{} has no end: {:?}", short(row.id), row.status))),
    );
    findings
}

fn unrecorded(evidence: &Evidence<'_>, op: &Op, deployments: &HashSet<Uuid>) -> Option<String> {
    let response = op.ok().filter(|_| op.kind.is_change())?;
    if let Some(deployment) = response.deployment.filter(|id| !deployments.contains(id)) {
        return Some(format!("{} was acknowledged, but {} is not there", op.name(), short(deployment)));
    }
    let view = response.session?;
    let Some(row) = evidence.sessions.get(&view.id) else {
        return Some(format!("{} was acknowledged, but {} is not there", op.name(), short(view.id)));
    };
    if view.fence.is_some() && row.fence != view.fence {
        return Some(format!(
            "op {} returned fence {:?}, the row has {:?}",
            op.number, view.fence, row.fence
        ));
    }
    if op.kind.is_claim() && row.user != op.user {
        return Some(format!("op {} returned {} of another user", op.number, short(view.id)));
    }
    let early = row.ended_at.is_some_and(|ended| ended > op.returned + MARGIN);
    (op.kind == Kind::Release && early)
        .then(|| format!("op {} returned that {} has ended, but it ended later", op.number, short(view.id)))
}

fn numbering(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut last: HashMap<usize, i64> = evidence.ledger.since.ordinals.clone();
    let mut findings = Vec::new();
    for row in &evidence.ledger.sessions {
        let before = last.entry(row.environment).or_default();
        if row.ordinal != *before + 1 {
            let text = format!("environment {}: session {} follows {before}", row.environment, row.ordinal);
            findings.push(Finding::new("L12", text));
        }
        *before = row.ordinal;
    }
    for row in &evidence.ledger.environments {
        let counted = last.get(&row.environment).copied().unwrap_or(0);
        if row.sessions != counted {
            let text =
                format!("environment {} counts {} sessions, has {counted}", row.environment, row.sessions);
            findings.push(Finding::new("L12", text));
        }
        let highest =
            evidence.ledger.sessions.iter().filter(|session| session.environment == row.environment);
        if highest.filter_map(|session| session.fence).max().is_some_and(|highest| row.fence <= highest) {
            let text =
                format!("environment {}: fence {} is not above its last grant's", row.environment, row.fence);
            findings.push(Finding::new("L12", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};
    use crate::fault::history::Status;

    #[test]
    fn an_acknowledged_session_is_stored() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.session(id(1), 1, Some(1), (5, 20));
        sample.environment(2, 1);
        assert_eq!(sample.found(check), Vec::<&str>::new());
        sample.granted(Kind::Claim, 20, 30, (id(2), 3));
        assert_eq!(sample.found(check), ["L12"]);
    }

    #[test]
    fn a_release_that_was_acknowledged_has_happened() {
        let mut sample = Sample::default();
        sample.shown(Kind::Release, 10, 15, id(1), Status::Released, Some(1));
        sample.session(id(1), 1, Some(1), (5, SECOND));
        assert_eq!(sample.found(check), ["L12"]);
    }

    #[test]
    fn ordinals_and_fences_have_no_gaps() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (5, 20));
        sample.session(id(2), 3, Some(3), (20, 30));
        assert_eq!(sample.found(check), ["L12"]);
        sample.environment(3, 2);
        assert_eq!(sample.found(check), ["L12", "L12", "L12"]);
    }

    #[test]
    fn nothing_is_left_held() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (5, 20));
        sample.still_active(id(1));
        sample.environment(2, 1);
        sample.still_held();
        assert_eq!(sample.found(check), ["L10", "L10"]);
    }
}
