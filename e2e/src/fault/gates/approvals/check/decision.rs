//! G10: the votes decide. The events of each approval are replayed: it is approved with the vote that meets both rules,
//! neither before nor later, and rejected with the first rejection. Each person counts once and for one rule, and a
//! withdrawn vote does not count. What a machine has started needs one more approval.

use std::collections::HashMap;

use uuid::Uuid;

use super::ApprovalEvidence;
use super::durable::of_event;
use crate::fault::deployments::check::short;
use crate::fault::finding::Finding;
use crate::fault::gates::approvals::history::Act;

pub(super) fn check(evidence: &ApprovalEvidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in &evidence.ledger.approvals {
        let extra = usize::from(evidence.history.by_machine.contains(&row.deployment));
        if let Some(what) = replay(evidence, row.id, extra) {
            let text = format!("{} of {}/{} {what}", short(row.id), short(row.deployment), row.stage);
            findings.push(Finding::new("G10", text));
        }
    }
    findings
}

/// Returns what is wrong with the decision.
fn replay(evidence: &ApprovalEvidence<'_>, approval: Uuid, extra: usize) -> Option<String> {
    let mut votes: HashMap<Uuid, Act> = HashMap::new();
    let mut expected = None;
    for event in evidence.events_of(approval) {
        match (event.verb.as_str(), of_event(event).zip(event.actor)) {
            (_, Some((act, actor))) => {
                if let Some(decision) = expected {
                    return Some(format!("was not {decision} by the vote before that of {}", short(actor)));
                }
                votes.insert(actor, act);
            }
            (verb @ ("approved" | "rejected"), None) => {
                let counted = votes.values().filter(|act| **act == Act::Approve).count();
                return (expected != Some(verb)).then(|| {
                    format!("was {verb} with the approvals of {counted} people, which decide {expected:?}")
                });
            }
            _ => {}
        }
        expected = decide(evidence, &votes, extra);
    }
    // It has ended in another way, for example with its stage. That can be right after a vote, but not instead of its
    // decision.
    expected.map(|decision| format!("was never {decision}"))
}

fn decide(evidence: &ApprovalEvidence<'_>, votes: &HashMap<Uuid, Act>, extra: usize) -> Option<&'static str> {
    if votes.values().any(|act| *act == Act::Reject) {
        return Some("rejected");
    }
    let (mut first, mut second, mut both) = (0, 0, 0);
    for (user, _) in votes.iter().filter(|(_, act)| **act == Act::Approve) {
        match evidence.voters.get(user) {
            Some([true, true]) => both += 1,
            Some([true, false]) => first += 1,
            Some([false, true]) => second += 1,
            Some([false, false]) | None => {}
        }
    }
    let count = evidence.count;
    let missing = count.saturating_sub(first) + count.saturating_sub(second);
    (missing <= both && first + second + both >= 2 * count + extra).then_some("approved")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::approvals::check::sample::{Sample, id};

    #[test]
    fn an_approval_needs_all_of_its_votes() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.count = 2;
        assert_eq!(sample.found(check), ["G10"]);
    }

    #[test]
    fn it_is_approved_by_the_vote_that_meets_the_rules() {
        let mut sample = Sample::good();
        let approved = sample.ledger.events.pop().unwrap();
        assert_eq!(sample.found(check), ["G10"], "it was not approved");
        sample.event("voted", Some(3));
        sample.ledger.events.push(approved);
        assert_eq!(sample.found(check), ["G10"], "it was approved too late");
    }

    #[test]
    fn a_withdrawn_vote_and_one_of_a_stranger_do_not_count() {
        let mut sample = Sample::good();
        let approved = sample.ledger.events.pop().unwrap();
        sample.ledger.events.pop();
        sample.event("withdrawn", Some(1));
        sample.event("voted", Some(2));
        sample.ledger.events.push(approved.clone());
        assert_eq!(sample.found(check), ["G10"]);
        let mut sample = Sample::good();
        sample.ledger.events.iter_mut().filter(|event| event.actor == Some(id(2))).for_each(|event| {
            event.actor = Some(id(77));
        });
        assert_eq!(sample.found(check), ["G10"]);
    }

    #[test]
    fn a_vote_with_another_token_is_the_vote_of_the_same_person() {
        let mut sample = Sample::good();
        sample.ledger.events.iter_mut().filter(|event| event.actor == Some(id(2))).for_each(|event| {
            event.actor = Some(id(1));
        });
        assert_eq!(sample.found(check), ["G10"]);
    }

    #[test]
    fn what_a_machine_has_started_needs_one_more() {
        let mut sample = Sample::good();
        sample.history.by_machine.push(id(100));
        assert_eq!(sample.found(check), ["G10"]);
    }

    #[test]
    fn the_first_rejection_rejects() {
        let mut sample = Sample::good();
        sample.ledger.events.pop();
        sample.ledger.events.last_mut().unwrap().decision = Some("reject".to_owned());
        assert_eq!(sample.found(check), ["G10"]);
        sample.event("rejected", None);
        assert!(sample.found(check).is_empty());
    }
}
