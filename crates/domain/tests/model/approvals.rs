//! The model: four people and a stage whose approval has two rules. One of the four has started the deployment. What is to
//! be approved may change, people may lose their membership, production may be frozen, and the stage may be retried.

mod system;

use greenroom_domain::approval::{ApprovalStatus, VoteChoice};
use greenroom_domain::deployment::{Reason, StageStatus};
use stateright::{Checker, Model, Property};

use system::{System, VOTERS};

#[derive(Clone, Copy, Debug)]
pub struct Approvals {
    ticks: u8,
    /// How often what is to be approved changes.
    changes: u8,
    retries: u8,
    /// How often production is frozen or thawed.
    freezes: u8,
    /// People lose their membership.
    removal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A person votes for what is to be approved according to the open approval.
    Vote(u8, VoteChoice),
    /// A person votes for what was to be approved before, or will be.
    VoteForAnother(u8),
    Withdraw(u8),
    /// A person is removed from the organization.
    Remove(u8),
    Advance,
    /// The subject changes, as by a retry of an earlier stage.
    Change,
    Freeze,
    /// A runner takes the job.
    Take,
    /// The runner requests to start the first step.
    Start,
    /// The step fails.
    Fail,
    Retry,
    Tick,
}

impl Model for Approvals {
    type State = System;
    type Action = Action;

    fn init_states(&self) -> Vec<System> {
        vec![System::new()]
    }

    fn actions(&self, system: &System, actions: &mut Vec<Action>) {
        for person in 0..VOTERS {
            actions.extend([
                Action::Vote(person, VoteChoice::Approve),
                Action::Vote(person, VoteChoice::Reject),
                Action::VoteForAnother(person),
                Action::Withdraw(person),
            ]);
            if self.removal {
                actions.push(Action::Remove(person));
            }
        }
        actions.extend([Action::Advance, Action::Take, Action::Start, Action::Fail]);
        if system.changes < self.changes {
            actions.push(Action::Change);
        }
        if system.freezes < self.freezes {
            actions.push(Action::Freeze);
        }
        if system.retries < self.retries {
            actions.push(Action::Retry);
        }
        if system.now < self.ticks {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, system: &System, action: Action) -> Option<System> {
        let mut next = system.clone();
        match action {
            Action::Vote(person, choice) => next.vote(person, choice, false)?,
            Action::VoteForAnother(person) => next.vote(person, VoteChoice::Approve, true)?,
            Action::Withdraw(person) => next.withdraw(person)?,
            Action::Remove(person) => next.remove(person)?,
            Action::Advance => next.advance(),
            Action::Change => next.change()?,
            Action::Freeze => next.freeze(),
            Action::Take => next.take()?,
            Action::Start => next.start()?,
            Action::Fail => next.fail()?,
            Action::Retry => next.retry()?,
            Action::Tick => next.now += 1,
        }
        (next != *system).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no invariant was violated", |_, system: &System| system.broken.is_none()),
            Property::always("advancing is idempotent", |_, system: &System| {
                let mut once = system.clone();
                once.advance();
                let mut twice = once.clone();
                twice.advance();
                once == twice
            }),
            Property::sometimes("approved", |_, system: &System| system.is(ApprovalStatus::Approved)),
            Property::sometimes("rejected", |_, system: &System| system.is(ApprovalStatus::Rejected)),
            Property::sometimes("expired", |_, system: &System| system.is(ApprovalStatus::Expired)),
            Property::sometimes("invalidated", |model: &Self, system: &System| {
                model.changes == 0 || system.replaced == Some(ApprovalStatus::Invalidated)
            }),
            Property::sometimes("an approval lapses", |_, system: &System| {
                system.stage().reason == Some(Reason::ApprovalLapsed)
            }),
            Property::sometimes("a first step starts", |_, system: &System| system.starts == 1),
            Property::sometimes("a start is refused", |_, system: &System| system.refused_starts > 0),
            Property::sometimes("a retry starts with the same approval", |model: &Self, system: &System| {
                model.retries == 0 || system.starts == 2 && system.openings == 1
            }),
            Property::sometimes("a stage fails for lack of an approval", |_, system: &System| {
                system.stage().status == StageStatus::Failed && system.starts == 0
            }),
        ]
    }
}

/// Votes, withdrawals and time, with a retry.
#[test]
fn votes_and_time() {
    check(Approvals { ticks: 4, changes: 0, retries: 1, freezes: 0, removal: false }, 10_000);
}

/// What is to be approved changes, while production is frozen for a time.
#[test]
fn changes_and_freezes() {
    check(Approvals { ticks: 3, changes: 1, retries: 0, freezes: 2, removal: false }, 10_000);
}

/// Voters are removed before the approval is decided.
#[test]
fn voters_lose_their_membership() {
    check(Approvals { ticks: 2, changes: 1, retries: 0, freezes: 0, removal: true }, 5_000);
}

fn check(model: Approvals, min_states: usize) {
    let checker = model.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.is_done(), "the search is not complete");
    assert!(checker.unique_state_count() > min_states, "only {} states", checker.unique_state_count());
}
