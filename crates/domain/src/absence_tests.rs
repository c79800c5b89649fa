//! Tests of deadlines during an absence.

use uuid::Uuid;

use super::*;
use crate::environment::{Effect, LockCommand, apply, settle};
use crate::id::SessionId;
use crate::lease::{Lease, LeaseTerms};
use crate::lock::{Handover, Lock, LockHolder, OnSilence};
use crate::owner::Owner;
use crate::queue::{HEARTBEAT_TIMEOUT, Queue, Waiter};
use crate::rights::Rights;
use crate::session::SessionEnd;
use crate::token::TokenKind;

const HOLDER: u128 = 1;
const WAITER: u128 = 2;
const TERMS: LeaseTerms = LeaseTerms {
    length: SignedDuration::from_secs(1_000_000),
    max_length: SignedDuration::from_secs(2_000_000),
};
/// When the last sweep was.
const LAST_SWEEP: i64 = 1_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

fn session(number: u128) -> SessionId {
    SessionId::from(Uuid::from_u128(number))
}

fn absence(length: i64) -> Absence {
    Absence::since(Some(at(LAST_SWEEP)), at(LAST_SWEEP + length)).unwrap()
}

/// A lock with a lease, and one waiter with a heartbeat.
fn state(lease: Lease, handover: Option<Handover>, heartbeat_at: i64) -> EnvironmentState {
    let owner = |number| Owner { user: Uuid::from_u128(number).into(), token: None };
    let held = LockHolder { session: session(HOLDER), owner: owner(HOLDER), lease, handover };
    let waiter = Waiter {
        session: session(WAITER),
        owner: owner(WAITER),
        kind: TokenKind::Ci,
        terms: TERMS,
        heartbeat_at: at(heartbeat_at),
        timeout: HEARTBEAT_TIMEOUT,
        rights: Rights { barred: None, can_force: true },
    };
    EnvironmentState { lock: Lock { fence: 1, held: Some(held) }, queue: Queue::default().joined(waiter) }
}

fn with_place(heartbeat_at: i64) -> EnvironmentState {
    state(Lease::claimed(at(0), TERMS), None, heartbeat_at)
}

#[test]
fn a_short_gap_is_no_absence() {
    let longest = MAX_SWEEP_GAP.as_secs();
    assert_eq!(Absence::since(Some(at(0)), at(longest)), None);
    assert!(Absence::since(Some(at(0)), at(longest + 1)).is_some());
    assert_eq!(Absence::since(None, at(1_000_000)), None);
    // A clock that was set back.
    assert_eq!(Absence::since(Some(at(1_000)), at(0)), None);
}

#[test]
fn time_that_was_left_is_left_after_the_absence() {
    for (deadline, length, extended) in [
        // Over before the absence, and at its first moment.
        (990, 60, 990),
        (1_000, 60, 1_000),
        (1_001, 60, 1_061),
        (1_119, 60, 1_179),
        (1_059, 60, 1_119),
        (1_001, 86_400, 87_401),
        // Set during the absence, in which others could be reached: never more than the full time after it.
        (1_170, 60, 1_180),
        (1_200, 60, 1_200),
    ] {
        let found = absence(length).extended(at(deadline), seconds(120));
        assert_eq!(found, at(extended), "{deadline} with an absence of {length}");
        // To extend it again never makes it longer than the full time.
        assert!(absence(length).extended(found, seconds(120)) <= at(LAST_SWEEP + length + 120).max(found));
    }
}

#[test]
fn no_place_is_lost_however_long_the_absence_is() {
    for length in [11, 60, 119, 120, 121, 126, 600, 86_400] {
        for heartbeat in [LAST_SWEEP - 119, LAST_SWEEP - 60, LAST_SWEEP] {
            let now = at(LAST_SWEEP + length);
            let (kept, effects) = settle(with_place(heartbeat).after_absence(absence(length)), now);
            assert_eq!(effects, [], "{length} after {heartbeat}");
            // The time that was left, and no more.
            let left = 120 - (LAST_SWEEP - heartbeat);
            let later = at(LAST_SWEEP + length + left + 1);
            let ended = Effect::Ended { session: session(WAITER), end: SessionEnd::Canceled };
            assert_eq!(settle(kept, later).1, [ended], "{length} after {heartbeat}");
        }
        // Without the absence the place is lost.
        if length > 120 {
            assert_ne!(settle(with_place(LAST_SWEEP), at(LAST_SWEEP + length)).1, []);
        }
    }
    // A place that was lost before stays lost.
    let (_, effects) = settle(with_place(LAST_SWEEP - 120).after_absence(absence(60)), at(LAST_SWEEP + 60));
    assert_eq!(effects, [Effect::Ended { session: session(WAITER), end: SessionEnd::Canceled }]);
}

/// What is left of a place is measured with the waiter's own timeout.
#[test]
fn a_person_keeps_what_was_left_of_the_stay() {
    let mut before = with_place(LAST_SWEEP - 1_000);
    for waiter in before.queue.iter_mut() {
        waiter.timeout = seconds(1_100);
    }
    let after = before.after_absence(absence(600));
    let deadlines: Vec<_> = after.queue.iter().map(Waiter::heartbeat_deadline).collect();
    assert_eq!(deadlines, [at(LAST_SWEEP + 700)]);
}

#[test]
fn a_turn_waits_for_its_confirmation() {
    let turn = Lease::from_queue(at(LAST_SWEEP - 20), TERMS);
    let now = at(LAST_SWEEP + 600);
    let state = state(turn, None, LAST_SWEEP).after_absence(absence(600));
    assert_eq!(state.lock.held.as_ref().map(|held| held.lease.expires_at), Some(at(LAST_SWEEP + 640)));
    let (state, settled, _) = apply(state, now, LockCommand::Heartbeat(session(HOLDER)));
    assert_eq!(settled, []);
    assert!(state.lock.held.is_some_and(|held| held.lease.confirmed));
}

/// A command extends it for its decision and writes it, and then the sweeper extends it as well.
#[test]
fn a_turn_that_is_extended_twice_has_no_more_than_its_lease() {
    let terms = LeaseTerms { length: seconds(3), max_length: seconds(1_000) };
    let before = state(Lease::from_queue(at(LAST_SWEEP), terms), None, LAST_SWEEP);
    let twice = before.after_absence(absence(30)).after_absence(absence(31));
    assert_eq!(twice.lock.held.map(|held| held.lease.expires_at), Some(at(LAST_SWEEP + 34)));
}

#[test]
fn a_turn_ends_with_its_longest_lease() {
    let terms = LeaseTerms { length: seconds(50), max_length: seconds(50) };
    let turn = Lease::from_queue(at(LAST_SWEEP - 20), terms);
    let held = state(turn, None, LAST_SWEEP).after_absence(absence(600)).lock.held;
    assert_eq!(held.map(|held| held.lease.expires_at), Some(at(LAST_SWEEP + 30)));
}

#[test]
fn a_confirmed_lease_ends_by_the_clock() {
    let lease = Lease::claimed(at(LAST_SWEEP), LeaseTerms { length: seconds(30), max_length: seconds(60) });
    let after = state(lease, None, LAST_SWEEP).after_absence(absence(600));
    assert_eq!(after.lock.held.map(|held| held.lease), Some(lease));
}

#[test]
fn a_holder_who_could_not_answer_is_not_silent() {
    let due_at = at(LAST_SWEEP + 40);
    let handover =
        Handover { session: session(WAITER), due_at, on_silence: OnSilence::Accept, can_force: true };
    let before = state(Lease::claimed(at(0), TERMS), Some(handover), LAST_SWEEP);
    let now = at(LAST_SWEEP + 600);
    assert_ne!(settle(before.clone(), now).1, []);
    let (after, effects) = settle(before.after_absence(absence(600)), now);
    assert_eq!(effects, []);
    let held = after.lock.held.and_then(|held| held.handover);
    assert_eq!(held.map(|handover| handover.due_at), Some(at(LAST_SWEEP + 640)));
}
