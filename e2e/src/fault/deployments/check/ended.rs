//! D2: everything ends. Once the system has been healthy for long enough, no deployment is live and no
//! environment is held or has its work slot in use.

use crate::fault::deployments::check::{Evidence, short};
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in evidence.ledger.deployments.iter().filter(|row| row.ended_at.is_none()) {
        let waiting = evidence.waiting.get(&row.id).map_or("not read", String::as_str);
        let environment = row.environment.as_deref().unwrap_or("no environment");
        let text =
            format!("{} ({}, {environment}) is still {}: {waiting}", short(row.id), row.purpose, row.status);
        findings.push(Finding::new("D2", text));
    }
    for environment in &evidence.ledger.environments {
        if let Some(slot) = environment.slot {
            let text = format!("the work slot of {} is still {}'s", environment.name, short(slot));
            findings.push(Finding::new("D2", text));
        }
        if environment.held {
            findings.push(Finding::new("D2", format!("{} is still held", environment.name)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{Sample, id};

    #[test]
    fn a_deployment_that_never_ends_is_found() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.ledger.deployments[1].ended_at = None;
        assert_eq!(sample.found(check), ["D2"]);
    }

    #[test]
    fn an_environment_that_never_becomes_free_is_found() {
        let mut sample = Sample::good();
        sample.ledger.environments[0].slot = Some(id(1));
        sample.ledger.environments[0].held = true;
        assert_eq!(sample.found(check), ["D2", "D2"]);
    }
}
