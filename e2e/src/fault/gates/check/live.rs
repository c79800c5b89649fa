//! G4: in the end, the newest accepted of the deployments that succeeded in an environment is live there or, if it was
//! rolled back, the last one that succeeded.

use crate::fault::deployments::check::short;
use crate::fault::finding::Finding;
use crate::fault::gates::check::{Evidence, name};
use crate::fault::gates::history::Place;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in &evidence.gates.environments {
        let succeeded = || evidence.tenures_in(row.place).filter(|tenure| tenure.has_succeeded());
        let last = succeeded().last().map(|tenure| tenure.deployment);
        let is_rolled_back = succeeded().any(|tenure| evidence.allows_older(tenure.deployment));
        let expected = if is_rolled_back { last } else { newest_succeeded(evidence, row.place) };
        if row.live != expected || row.live != last {
            let show = |id: Option<uuid::Uuid>| id.map_or_else(|| "nothing".to_owned(), short);
            let text = format!(
                "{}: {} is live, the newest that succeeded is {}, the last one {}",
                name(row.place),
                show(row.live),
                show(expected),
                show(last)
            );
            findings.push(Finding::new("G4", text));
        }
    }
    findings
}

/// Returns the newest deployment all of whose stages in the environment have succeeded.
fn newest_succeeded(evidence: &Evidence<'_>, place: Place) -> Option<uuid::Uuid> {
    let of_pipeline = evidence.ledger.deployments.iter().filter(|row| row.pipeline == place.pipeline);
    let succeeded = of_pipeline.filter(|row| {
        let stages = || {
            evidence.ledger.stages.iter().filter(|stage| {
                let environment = evidence.gates.stage_environments.get(&(row.id, stage.key.clone()));
                stage.deployment == row.id && environment == Some(&place.environment)
            })
        };
        stages().next().is_some() && stages().all(|stage| stage.status == "succeeded")
    });
    succeeded.max_by_key(|row| row.created_at).map(|row| row.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::check::sample::{Sample, id};
    use crate::fault::gates::history::Retry;

    #[test]
    fn the_newest_is_live() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.gates.environments[0].live = Some(id(1));
        assert_eq!(sample.found(check), ["G4"]);
        sample.gates.environments[0].live = None;
        assert_eq!(sample.found(check), ["G4"]);
    }

    #[test]
    fn after_a_rollback_the_last_one_is_live() {
        let mut sample = Sample::good();
        sample.accepted(2, 0);
        assert_eq!(sample.found(check), ["G4"]);
        let retry = Retry { deployment: id(2), user: id(102), allows_older: true };
        sample.history.retries.push(retry);
        assert!(sample.found(check).is_empty());
    }
}
