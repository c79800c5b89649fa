//! Limits of a queue: places per person and environment, and settling in batches.

use greenroom_domain::environment::{Effect, EnvironmentState, LockCommand, Refusal, apply, settle};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::queue::{MAX_PLACES_PER_ENVIRONMENT, MAX_PLACES_PER_USER, SETTLE_BATCH_SIZE};
use greenroom_domain::token::TokenKind;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

fn claim(session: u128, user: u128, kind: TokenKind) -> Claim {
    let terms =
        LeaseTerms { length: SignedDuration::from_hours(1), max_length: SignedDuration::from_hours(2) };
    Claim {
        session: Uuid::from_u128(session).into(),
        user: Uuid::from_u128(user).into(),
        kind,
        terms,
        can_force: false,
        places: 0,
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// An environment that the first of `waiters + 1` users holds. The others have been waiting since second 0.
fn crowd(waiters: u128) -> EnvironmentState {
    (0..=waiters).fold(EnvironmentState::default(), |state, user| {
        let (state, _, applied) = apply(state, at(0), LockCommand::Queue(claim(user, user, TokenKind::User)));
        assert!(applied.is_ok(), "{user}: {applied:?}");
        state
    })
}

#[test]
fn a_person_has_one_place_and_programs_have_several() {
    let state = crowd(2);
    let again = LockCommand::Queue(claim(9, 2, TokenKind::User));
    let (state, _, applied) = apply(state, at(1), again);
    let session = Uuid::from_u128(2).into();
    assert_eq!(applied, Err(Refusal::AlreadyQueued { session, position: 2 }));
    // The programs of a user have their own places, up to a limit over all environments.
    let (state, _, applied) = apply(state, at(1), LockCommand::Queue(claim(10, 2, TokenKind::Ci)));
    assert!(applied.is_ok());
    let full = Claim { places: MAX_PLACES_PER_USER, ..claim(11, 2, TokenKind::Agent) };
    let (state, _, applied) = apply(state, at(1), LockCommand::Queue(full));
    assert_eq!(applied, Err(Refusal::PlacesUsedUp));
    // The limit of programs does not apply to a person.
    let person = Claim { places: MAX_PLACES_PER_USER, ..claim(12, 3, TokenKind::User) };
    assert!(apply(state, at(1), LockCommand::Queue(person)).2.is_ok());
}

#[test]
fn a_full_queue_rejects_claims_until_waiters_have_left() {
    let state = crowd(MAX_PLACES_PER_ENVIRONMENT as u128);
    let late = claim(9_999, 9_999, TokenKind::User);
    let (state, _, applied) = apply(state, at(1), LockCommand::Queue(late));
    assert_eq!(applied, Err(Refusal::QueueFull));
    let of = Uuid::from_u128(0).into();
    let request = LockCommand::RequestHandover { of, by: late, grace: SignedDuration::from_mins(5) };
    let (state, _, applied) = apply(state, at(1), request);
    assert_eq!(applied, Err(Refusal::QueueFull));
    // All waiters have timed out. Their ends are stored in batches, and none of them blocks other claims.
    let (state, _, applied) = apply(state, at(121), LockCommand::Queue(late));
    assert_eq!(applied, Ok(vec![Effect::Queued { session: late.session }]));
    assert_eq!(state.queue.len(), MAX_PLACES_PER_ENVIRONMENT - SETTLE_BATCH_SIZE + 1);
}

#[test]
fn timed_out_waiters_end_in_batches_and_are_not_granted() {
    let waiters = 2 * SETTLE_BATCH_SIZE + 50;
    let mut state = crowd(waiters as u128);
    // The last one is beyond the first batch, but its heartbeat is still too late.
    let last = Uuid::from_u128(waiters as u128).into();
    let (next, settled, _) = apply(state, at(121), LockCommand::Heartbeat(last));
    state = next;
    assert_eq!(settled.len(), SETTLE_BATCH_SIZE + 1);
    assert!(state.queue.find(last).is_none());
    // The holder releases the lock: no waiter is granted, and the next claim succeeds.
    let (next, settled, applied) = apply(state, at(121), LockCommand::Release(Uuid::from_u128(0).into()));
    state = next;
    let ends = settled.iter().chain(applied.iter().flatten());
    assert!(ends.clone().all(|effect| matches!(effect, Effect::Ended { .. })));
    assert!(state.next_due_at().is_none_or(|due| due <= at(121)), "the rest is due immediately");
    let (next, _, applied) = apply(state, at(122), LockCommand::Claim(claim(9_999, 9_999, TokenKind::User)));
    assert!(applied.is_ok(), "{applied:?}");
    let (settled, more) = settle(next, at(123));
    assert!(more.is_empty() && settled.queue.is_empty());
}
