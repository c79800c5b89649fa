//! D1: an acknowledged deployment is in the database and matches the request.

use crate::fault::deployments::check::{Evidence, short};
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for request in evidence.requests {
        for response in &request.responses {
            let text = match evidence.deployments.get(response) {
                None => format!("{} was acknowledged and does not exist", short(*response)),
                Some(row) if row.commit != request.commit => {
                    format!(
                        "{} is of commit {}, but {} was requested",
                        short(*response),
                        row.commit,
                        request.commit
                    )
                }
                Some(_) => continue,
            };
            findings.push(Finding::new("D1", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{Sample, id};

    #[test]
    fn an_acknowledged_deployment_is_stored() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.ledger.deployments.retain(|row| row.id != id(1));
        assert_eq!(sample.found(check), ["D1"]);
    }

    #[test]
    fn an_acknowledged_deployment_matches_its_request() {
        let mut sample = Sample::good();
        sample.requests[0].commit = "another".to_owned();
        assert_eq!(sample.found(check), ["D1"]);
    }
}
