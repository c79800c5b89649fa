//! G9: no acknowledged vote is lost, and none is invented. The vote of a user is the one that was acknowledged last, if the
//! outcome of no later request is unknown, and the last event of the user agrees with it.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::ApprovalEvidence;
use crate::fault::deployments::check::short;
use crate::fault::finding::Finding;
use crate::fault::gates::approvals::history::{Act, Response};
use crate::fault::gates::approvals::ledger::{ApprovalEvent, VoteRow};

/// A user's vote on an approval.
type Key = (Uuid, Uuid);

/// The last of what a user did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// Nothing was acknowledged.
    Nothing,
    Certain(Act),
    Unknown,
}

pub(super) fn check(evidence: &ApprovalEvidence<'_>) -> Vec<Finding> {
    let mut last: HashMap<Key, Last> = HashMap::new();
    // Those whose vote was certainly stored.
    let mut voted: HashSet<Key> = HashSet::new();
    for request in &evidence.history.votes {
        let key = (request.approval, request.user);
        let entry = last.entry(key).or_insert(Last::Nothing);
        match request.response {
            // There may have been nothing to withdraw.
            Response::Stored if request.act == Act::Withdraw && !voted.contains(&key) => {
                *entry = Last::Unknown;
            }
            Response::Stored => {
                voted.insert(key);
                *entry = Last::Certain(request.act);
            }
            Response::Unknown => *entry = Last::Unknown,
            Response::Refused(_) => {}
        }
    }
    let rows: HashMap<Key, &VoteRow> =
        evidence.ledger.votes.iter().map(|row| ((row.approval, row.user), row)).collect();
    let mut events: HashMap<Key, &ApprovalEvent> = HashMap::new();
    for event in evidence.ledger.events.iter().filter(|event| is_of_vote(event)) {
        if let Some(actor) = event.actor {
            events.insert((event.approval, actor), event);
        }
    }
    let mut wrong = Vec::new();
    let twice = evidence.ledger.votes.len() - rows.len();
    if twice > 0 {
        wrong.push(format!("{twice} users have several votes on one approval"));
    }
    let none = || last.iter().filter(|(_, last)| **last == Last::Nothing).map(|(key, _)| key);
    wrong.extend(
        none().filter(|key| rows.contains_key(*key)).map(|key| text(key, "was refused and is stored")),
    );
    for (key, act) in last.iter().filter_map(|(key, last)| match last {
        Last::Certain(act) => Some((key, *act)),
        Last::Nothing | Last::Unknown => None,
    }) {
        let stored = rows.get(key).map(|row| of_row(row));
        if stored != Some(act) {
            wrong.push(text(key, &format!("was acknowledged as {act:?} and is {stored:?}")));
        }
    }
    for (key, row) in &rows {
        let recorded = events.get(key).and_then(|event| of_event(event));
        if recorded != Some(of_row(row)) {
            wrong.push(text(key, &format!("is {:?}, but {recorded:?} was recorded", of_row(row))));
        }
    }
    wrong.into_iter().map(|text| Finding::new("G9", text)).collect()
}

fn text((approval, user): &Key, what: &str) -> String {
    format!("the vote of {} on {} {what}", short(*user), short(*approval))
}

pub(super) fn is_of_vote(event: &ApprovalEvent) -> bool {
    ["voted", "withdrawn"].contains(&event.verb.as_str())
}

fn of_row(row: &VoteRow) -> Act {
    match row.decision.as_str() {
        _ if row.is_withdrawn => Act::Withdraw,
        "reject" => Act::Reject,
        _ => Act::Approve,
    }
}

pub(super) fn of_event(event: &ApprovalEvent) -> Option<Act> {
    match (event.verb.as_str(), event.decision.as_deref()) {
        ("withdrawn", _) => Some(Act::Withdraw),
        ("voted", Some("reject")) => Some(Act::Reject),
        ("voted", Some("approve")) => Some(Act::Approve),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::approvals::check::sample::Sample;

    #[test]
    fn an_acknowledged_vote_is_stored() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.ledger.votes.pop();
        assert_eq!(sample.found(check), ["G9"]);
        sample.history.votes.last_mut().unwrap().response = Response::Unknown;
        assert!(sample.found(check).is_empty(), "it may not have been stored");
    }

    #[test]
    fn a_refused_vote_is_not_stored() {
        let mut sample = Sample::good();
        sample.history.votes.last_mut().unwrap().response = Response::Refused("approval_decided".to_owned());
        assert_eq!(sample.found(check), ["G9"]);
    }

    #[test]
    fn the_vote_is_the_last_one_and_agrees_with_its_event() {
        let mut sample = Sample::good();
        sample.ledger.votes[0].is_withdrawn = true;
        assert_eq!(sample.found(check), ["G9", "G9"]);
        let mut sample = Sample::good();
        sample.ledger.events.retain(|event| event.verb != "voted");
        assert_eq!(sample.found(check).len(), sample.ledger.votes.len());
    }

    #[test]
    fn a_vote_whose_response_is_unknown_may_not_be_there_to_withdraw() {
        let mut sample = Sample::good();
        let mut withdrawal = sample.history.votes[1].clone();
        withdrawal.act = Act::Withdraw;
        sample.history.votes[1].response = Response::Unknown;
        sample.history.votes.push(withdrawal);
        sample.ledger.votes.pop();
        assert!(sample.found(check).is_empty());
        sample.history.votes[1].response = Response::Stored;
        assert_eq!(sample.found(check), ["G9"]);
    }

    #[test]
    fn a_user_has_one_vote() {
        let mut sample = Sample::good();
        let copy = sample.ledger.votes[0].clone();
        sample.ledger.votes.push(copy);
        assert_eq!(sample.found(check), ["G9"]);
    }
}
