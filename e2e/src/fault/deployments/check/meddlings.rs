//! D11: work in a session belongs to its holder. Nobody else cancels it or tries it again. (No client of this campaign is a maintainer.)

use crate::fault::deployments::check::{Evidence, short};
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for meddling in evidence.meddlings {
        let row = evidence.deployments.get(&meddling.deployment);
        let session = row.and_then(|row| row.session);
        let holder = session.and_then(|id| evidence.ledger.sessions.iter().find(|session| session.id == id));
        if holder.is_some_and(|session| session.user != meddling.user) {
            let (deployment, user) = (short(meddling.deployment), short(meddling.user));
            let text = format!(
                "{} of {deployment} was carried out for {user}, who is not its holder",
                meddling.what
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
    use crate::fault::deployments::history::Meddling;

    #[test]
    fn only_the_holder_cancels_and_tries_again() {
        let mut sample = Sample::good();
        sample.meddlings.push(Meddling { user: id(1_001), deployment: id(1), what: "cancel" });
        assert!(sample.found(check).is_empty());
        sample.meddlings.push(Meddling { user: id(1_002), deployment: id(1), what: "retry" });
        assert_eq!(sample.found(check), ["D11"]);
    }

    #[test]
    fn what_belongs_to_no_session_is_everybodys() {
        let mut sample = Sample::good();
        sample.ledger.deployments[0].session = None;
        sample.meddlings.push(Meddling { user: id(1_002), deployment: id(1), what: "cancel" });
        assert!(sample.found(check).is_empty());
    }
}
