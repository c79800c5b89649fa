//! Limits of a queue: places per person and environment, and settling in batches.

use greenroom_domain::environment::{Command, Effect, EnvironmentState, Refusal, apply, settle};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::queue::{PLACES_PER_ENVIRONMENT, PLACES_PER_USER, SETTLE_BATCH};
use greenroom_domain::token::TokenKind;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

fn claim(session: u128, user: u128, kind: TokenKind) -> Claim {
    let terms = LeaseTerms { length: SignedDuration::from_hours(1), longest: SignedDuration::from_hours(2) };
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

/// Held by the first of `waiters + 1` users; the others wait since the second 0.
fn crowd(waiters: u128) -> EnvironmentState {
    (0..=waiters).fold(EnvironmentState::default(), |state, user| {
        let (state, _, applied) = apply(state, at(0), Command::Queue(claim(user, user, TokenKind::User)));
        assert!(applied.is_ok(), "{user}: {applied:?}");
        state
    })
}

#[test]
fn a_person_has_one_place_and_programs_have_several() {
    let state = crowd(2);
    let again = Command::Queue(claim(9, 2, TokenKind::User));
    let (state, _, applied) = apply(state, at(1), again);
    let session = Uuid::from_u128(2).into();
    assert_eq!(applied, Err(Refusal::AlreadyQueued { session, position: 2 }));
    // A program of the same user has places of its own, up to a limit over all environments.
    let (state, _, applied) = apply(state, at(1), Command::Queue(claim(10, 2, TokenKind::Ci)));
    assert!(applied.is_ok());
    let full = Claim { places: PLACES_PER_USER, ..claim(11, 2, TokenKind::Agent) };
    let (state, _, applied) = apply(state, at(1), Command::Queue(full));
    assert_eq!(applied, Err(Refusal::PlacesUsedUp));
    // The program's place is not the person's.
    let person = Claim { places: PLACES_PER_USER, ..claim(12, 3, TokenKind::User) };
    assert!(apply(state, at(1), Command::Queue(person)).2.is_ok());
}

#[test]
fn a_full_queue_takes_nobody_until_some_have_left() {
    let state = crowd(PLACES_PER_ENVIRONMENT as u128);
    let late = claim(9_999, 9_999, TokenKind::User);
    let (state, _, applied) = apply(state, at(1), Command::Queue(late));
    assert_eq!(applied, Err(Refusal::QueueFull));
    let of = Uuid::from_u128(0).into();
    let request = Command::RequestHandover { of, by: late, grace: SignedDuration::from_mins(5) };
    let (state, _, applied) = apply(state, at(1), request);
    assert_eq!(applied, Err(Refusal::QueueFull));
    // All have fallen silent. Their ends are written in batches, and none of them is in anybody's way any more.
    let (state, _, applied) = apply(state, at(121), Command::Queue(late));
    assert_eq!(applied, Ok(vec![Effect::Queued { session: late.session }]));
    assert_eq!(state.queue.len(), PLACES_PER_ENVIRONMENT - SETTLE_BATCH + 1);
}

#[test]
fn silent_waiters_end_in_batches_and_get_nothing() {
    let waiters = 2 * SETTLE_BATCH + 50;
    let mut state = crowd(waiters as u128);
    // The last one is beyond the first batch, and its heartbeat comes too late all the same.
    let last = Uuid::from_u128(waiters as u128).into();
    let (next, settled, _) = apply(state, at(121), Command::Hear(last));
    state = next;
    assert_eq!(settled.len(), SETTLE_BATCH + 1);
    assert!(state.queue.find(last).is_none());
    // The holder lets go: nobody is granted, and whoever claims finds it free.
    let (next, settled, applied) = apply(state, at(121), Command::Release(Uuid::from_u128(0).into()));
    state = next;
    let ends = settled.iter().chain(applied.iter().flatten());
    assert!(ends.clone().all(|effect| matches!(effect, Effect::Ended { .. })));
    assert!(state.due().is_none_or(|due| due <= at(121)), "the rest is due at once");
    let (next, _, applied) = apply(state, at(122), Command::Claim(claim(9_999, 9_999, TokenKind::User)));
    assert!(applied.is_ok(), "{applied:?}");
    let (settled, more) = settle(next, at(123));
    assert!(more.is_empty() && settled.queue.is_empty());
}
