//! G8: an approval is opened once and decided once. Its end is recorded by one event that matches its status, and no vote
//! is recorded afterwards.

use super::ApprovalEvidence;
use crate::fault::deployments::check::short;
use crate::fault::finding::Finding;

/// That an approval was canceled is part of the event of its stage.
const ENDS: [&str; 5] = ["approved", "rejected", "expired", "invalidated", "superseded"];

pub(super) fn check(evidence: &ApprovalEvidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in &evidence.ledger.approvals {
        let verbs: Vec<&str> = evidence.events_of(row.id).map(|event| event.verb.as_str()).collect();
        for what in errors(&verbs, &row.status) {
            let text = format!("{} of {}/{} {what}", short(row.id), short(row.deployment), row.stage);
            findings.push(Finding::new("G8", text));
        }
    }
    findings
}

fn errors(verbs: &[&str], status: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let opened = verbs.iter().filter(|verb| **verb == "requested").count();
    if opened != 1 {
        errors.push(format!("was opened by {opened} events"));
    }
    if status == "pending" {
        errors.push("is pending although its deployment has ended".to_owned());
    }
    let ends: Vec<&str> = verbs.iter().copied().filter(|verb| ENDS.contains(verb)).collect();
    let expected: &[&str] = if ENDS.contains(&status) { &[status] } else { &[] };
    if ends != expected {
        errors.push(format!("is {status}, but these ends were recorded: {}", ends.join(", ")));
    }
    let after = verbs.iter().skip_while(|verb| !ENDS.contains(verb)).skip(1);
    if let Some(verb) = after.clone().find(|verb| ["voted", "withdrawn"].contains(verb)) {
        errors.push(format!("was {verb} after it had ended"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::approvals::check::sample::Sample;

    #[test]
    fn an_approval_ends_once() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.event("approved", None);
        assert_eq!(sample.found(check), ["G8"]);
    }

    #[test]
    fn its_end_matches_its_status_and_is_the_last_event() {
        let mut sample = Sample::good();
        sample.ledger.approvals[0].status = "rejected".to_owned();
        assert_eq!(sample.found(check), ["G8"]);
        sample.ledger.approvals[0].status = "pending".to_owned();
        assert_eq!(sample.found(check), ["G8", "G8"]);
        let mut sample = Sample::good();
        sample.event("voted", Some(3));
        assert_eq!(sample.found(check), ["G8"]);
    }

    #[test]
    fn a_canceled_approval_has_no_event_of_its_end() {
        let mut sample = Sample::good();
        sample.ledger.events.retain(|event| event.verb != "approved");
        sample.ledger.approvals[0].status = "canceled".to_owned();
        assert!(sample.found(check).is_empty());
    }
}
