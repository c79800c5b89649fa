//! D1: what was acknowledged is in the database, and is what was asked for.

use crate::fault::deployments::check::{Evidence, short};
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for request in evidence.requests {
        for answer in &request.answers {
            let text = match evidence.deployments.get(answer) {
                None => format!("{} was acknowledged and is not there", short(*answer)),
                Some(row) if row.commit != request.commit => {
                    format!(
                        "{} is of commit {}, and {} was asked for",
                        short(*answer),
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
    fn what_was_acknowledged_is_there() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.ledger.deployments.retain(|row| row.id != id(1));
        assert_eq!(sample.found(check), ["D1"]);
    }

    #[test]
    fn what_was_acknowledged_is_what_was_asked_for() {
        let mut sample = Sample::good();
        sample.requests[0].commit = "another".to_owned();
        assert_eq!(sample.found(check), ["D1"]);
    }
}
