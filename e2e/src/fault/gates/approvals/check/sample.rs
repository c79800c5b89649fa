//! A hand-made history for the checker's tests: one approval with the votes of two people.

use std::collections::HashMap;

use uuid::Uuid;

use super::ApprovalEvidence;
use crate::fault::clock::SECOND;
use crate::fault::finding::Finding;
use crate::fault::gates::approvals::definition::PLAIN;
use crate::fault::gates::approvals::history::{Act, ApprovalHistory, Attack, Response, VoteRequest};
use crate::fault::gates::approvals::ledger::{
    ApprovalEvent, ApprovalLedger, ApprovalRow, StageStart, VoteRow,
};

const APPROVAL: Uuid = Uuid::from_u128(10);
const DEPLOYMENT: Uuid = Uuid::from_u128(100);

#[derive(Default)]
pub(super) struct Sample {
    pub(super) history: ApprovalHistory,
    pub(super) ledger: ApprovalLedger,
    voters: HashMap<Uuid, [bool; 2]>,
    pub(super) count: usize,
}

pub(super) fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

impl Sample {
    /// Users 1 to 3 are voters: of the first group, of the second, and of both. The approval of deployment 100 is opened
    /// in second 10, approved by users 1 and 2 in second 20 and valid until 50. Its stage starts in second 21.
    pub(super) fn good() -> Self {
        let mut sample = Self { count: 1, ..Self::default() };
        sample.voters =
            HashMap::from([(id(1), [true, false]), (id(2), [false, true]), (id(3), [true, true])]);
        sample.ledger.approvals.push(ApprovalRow {
            id: APPROVAL,
            deployment: DEPLOYMENT,
            stage: PLAIN.to_owned(),
            status: "approved".to_owned(),
            created_at: 10 * SECOND,
            decided_at: Some(20 * SECOND),
            valid_until: Some(50 * SECOND),
        });
        sample.event("requested", None);
        for number in [1, 2] {
            sample.event("voted", Some(number));
            sample.ledger.votes.push(VoteRow {
                approval: APPROVAL,
                user: id(number),
                decision: "approve".to_owned(),
                is_withdrawn: false,
            });
            let (user, act) = (id(number), Act::Approve);
            let request = VoteRequest { approval: APPROVAL, user, act, response: Response::Stored };
            sample.history.votes.push(request);
        }
        sample.event("approved", None);
        sample.ledger.builds.push((DEPLOYMENT, 9 * SECOND));
        let (stage, at) = (PLAIN.to_owned(), 21 * SECOND);
        sample.ledger.starts.push(StageStart { deployment: DEPLOYMENT, stage, attempt: 1, at });
        sample.history.attacks.push(Attack {
            approval: APPROVAL,
            way: "by who started it",
            expected: "approval_own",
            is_always: false,
            response: Response::Refused("approval_own".to_owned()),
        });
        sample
    }

    /// Adds an event. A vote approves.
    pub(super) fn event(&mut self, verb: &str, actor: Option<u128>) {
        self.ledger.events.push(ApprovalEvent {
            approval: APPROVAL,
            verb: verb.to_owned(),
            actor: actor.map(id),
            decision: (verb == "voted").then(|| "approve".to_owned()),
        });
    }

    /// Returns the properties that a check finds violated.
    pub(super) fn found(&self, check: fn(&ApprovalEvidence<'_>) -> Vec<Finding>) -> Vec<&'static str> {
        let Self { history, ledger, voters, count } = self;
        let evidence = ApprovalEvidence { history, ledger, voters, count: *count };
        check(&evidence).into_iter().map(|finding| finding.property).collect()
    }
}

/// A history that has every property leads to no finding.
#[test]
fn the_good_history_is_good() {
    assert_eq!(Sample::good().found(super::all), Vec::<&str>::new());
}
