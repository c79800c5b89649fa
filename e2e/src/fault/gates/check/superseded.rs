//! G7: a deployment is superseded only if a newer one was live in one of its environments or, in a pipeline in which
//! deployments can block each other, if another one was at work.

use crate::fault::deployments::check::{CLOCK_MARGIN, short};
use crate::fault::finding::Finding;
use crate::fault::gates::check::Evidence;
use crate::fault::gates::definition::PIPELINES;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let superseded = evidence.ledger.deployments.iter().filter(|row| row.status == "superseded");
    for row in superseded {
        let ended_at = row.ended_at.unwrap_or(row.created_at);
        let is_deadlock_possible =
            PIPELINES.iter().any(|pipeline| pipeline.slug == row.pipeline && pipeline.can_deadlock());
        let has_reason = evidence.gates.tenures.iter().any(|tenure| {
            let is_newer = tenure.has_succeeded() && evidence.accepted_at(tenure) > row.created_at;
            tenure.place.pipeline == row.pipeline
                && tenure.deployment != row.id
                && tenure.began_at <= ended_at + CLOCK_MARGIN
                && (is_newer || is_deadlock_possible)
        });
        if !has_reason {
            let text = format!("{} was superseded, and no newer deployment was live", short(row.id));
            findings.push(Finding::new("G7", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::check::sample::Sample;

    #[test]
    fn only_a_newer_deployment_supersedes() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.ledger.deployments[0].status = "superseded".to_owned();
        sample.ledger.deployments[0].ended_at = Some(60_000_000);
        assert!(sample.found(check).is_empty());
        sample.gates.tenures[1].outcome = Some("failed".to_owned());
        assert_eq!(sample.found(check), ["G7"]);
    }
}
