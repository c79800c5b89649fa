//! G11: people who are behind a deployment do not approve it: with another token, as members of the groups, after a retry or
//! a transfer, or by a service account. People whom no rule names do not either. Each attempt is refused with the code
//! for it, and only voters have votes and events.

use super::ApprovalEvidence;
use super::durable::is_of_vote;
use crate::fault::deployments::check::short;
use crate::fault::finding::Finding;
use crate::fault::gates::approvals::history::Response;

const DECIDED: &str = "approval_decided";

pub(super) fn check(evidence: &ApprovalEvidence<'_>) -> Vec<Finding> {
    let mut wrong = Vec::new();
    for attack in &evidence.history.attacks {
        let is_right = match &attack.response {
            Response::Refused(code) => code == attack.expected || (!attack.is_always && code == DECIDED),
            Response::Unknown => true,
            Response::Stored => false,
        };
        if !is_right {
            let (response, approval) = (&attack.response, short(attack.approval));
            wrong.push(format!("{approval}, {}: {response:?} instead of {}", attack.way, attack.expected));
        }
    }
    for vote in evidence.ledger.votes.iter().filter(|vote| !evidence.voters.contains_key(&vote.user)) {
        wrong.push(format!("{} has a vote of {}, who may not vote", short(vote.approval), short(vote.user)));
    }
    for event in evidence.ledger.events.iter().filter(|event| is_of_vote(event)) {
        if !event.actor.is_some_and(|actor| evidence.voters.contains_key(&actor)) {
            let actor = event.actor.map(short).unwrap_or_default();
            wrong.push(format!("{} was {} by {actor}, who may not vote", short(event.approval), event.verb));
        }
    }
    wrong.into_iter().map(|text| Finding::new("G11", text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::approvals::check::sample::{Sample, id};

    #[test]
    fn an_attack_is_refused_with_its_code() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        for (is_always, response, is_right) in [
            (false, Response::Refused("approval_own".to_owned()), true),
            (false, Response::Refused("approval_decided".to_owned()), true),
            (true, Response::Refused("approval_decided".to_owned()), false),
            (false, Response::Refused("approval_not_yours".to_owned()), false),
            (false, Response::Stored, false),
            (true, Response::Unknown, true),
        ] {
            sample.history.attacks[0].response = response;
            sample.history.attacks[0].is_always = is_always;
            assert_eq!(sample.found(check).is_empty(), is_right, "{:?}", sample.history.attacks[0]);
        }
    }

    #[test]
    fn only_voters_have_votes() {
        let mut sample = Sample::good();
        sample.ledger.votes[0].user = id(77);
        assert_eq!(sample.found(check), ["G11"]);
        let mut sample = Sample::good();
        sample.event("voted", Some(77));
        assert_eq!(sample.found(check), ["G11"]);
    }
}
