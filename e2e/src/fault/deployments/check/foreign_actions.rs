//! D11: work in a session belongs to its holder. No other user can cancel or retry it. (No client of this
//! campaign is a maintainer.)

use crate::fault::deployments::check::{Evidence, short};
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for foreign_action in evidence.foreign_actions {
        let row = evidence.deployments.get(&foreign_action.deployment);
        let session = row.and_then(|row| row.session);
        let holder = session.and_then(|id| evidence.ledger.sessions.iter().find(|session| session.id == id));
        if holder.is_some_and(|session| session.user != foreign_action.user) {
            let (deployment, user) = (short(foreign_action.deployment), short(foreign_action.user));
            let text = format!(
                "{} of {deployment} was carried out for {user}, who is not its holder",
                foreign_action.action
            );
            findings.push(Finding::new("D11", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{Sample, id};
    use crate::fault::deployments::history::ForeignAction;

    #[test]
    fn only_the_holder_cancels_and_retries() {
        let mut sample = Sample::good();
        sample.foreign_actions.push(ForeignAction { user: id(1_001), deployment: id(1), action: "cancel" });
        assert!(sample.found(check).is_empty());
        sample.foreign_actions.push(ForeignAction { user: id(1_002), deployment: id(1), action: "retry" });
        assert_eq!(sample.found(check), ["D11"]);
    }

    #[test]
    fn a_deployment_without_session_has_no_holder() {
        let mut sample = Sample::good();
        sample.ledger.deployments[0].session = None;
        sample.foreign_actions.push(ForeignAction { user: id(1_002), deployment: id(1), action: "cancel" });
        assert!(sample.found(check).is_empty());
    }
}
