//! Limits of a queue: places per person and environment, and settling in batches.

use greenroom_domain::environment::{Effect, EnvironmentState, LockCommand, Refusal, apply, settle};
use greenroom_domain::id::TokenId;
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::owner::Owner;
use greenroom_domain::queue::{MAX_PLACES_PER_ENVIRONMENT, MAX_PLACES_PER_USER, SETTLE_BATCH_SIZE};
use greenroom_domain::rights::Barred;
use greenroom_domain::session::SessionEnd;
use greenroom_domain::token::TokenKind;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// So short that the lease of a crowd's holder outlasts it.
const MAX_STAY: SignedDuration = SignedDuration::from_secs(120);

fn claim(session: u128, user: u128, kind: TokenKind) -> Claim<'static> {
    let terms =
        LeaseTerms { length: SignedDuration::from_hours(1), max_length: SignedDuration::from_hours(2) };
    Claim {
        session: Uuid::from_u128(session).into(),
        owner: Owner::person(Uuid::from_u128(user).into()),
        lineage: &[],
        kind,
        terms,
        max_stay: MAX_STAY,
        can_force: false,
        places: 0,
        is_at_session_limit: false,
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
fn a_person_keeps_a_place_longer_than_a_program() {
    let stay = SignedDuration::from_mins(50);
    let person = Claim { max_stay: stay, ..claim(2, 2, TokenKind::User) };
    let programs = [(3_u128, TokenKind::Ci), (4, TokenKind::Agent)];
    let (mut state, _, _) = apply(crowd(0), at(0), LockCommand::Queue(person));
    for (session, kind) in programs {
        let program = Claim { max_stay: stay, ..claim(session, session, kind) };
        state = apply(state, at(0), LockCommand::Queue(program)).0;
    }
    let canceled =
        |session: u128| Effect::Ended { session: Uuid::from_u128(session).into(), end: SessionEnd::Canceled };
    assert_eq!(state.next_due_at(), Some(at(120)), "the programs are due first");
    let (state, effects) = settle(state, at(121));
    assert_eq!(effects, [canceled(3), canceled(4)]);
    assert_eq!(state.next_due_at(), Some(at(3_000)));
    // A heartbeat starts the whole stay again.
    let (again, _, _) = apply(state.clone(), at(2_000), LockCommand::StreamHeartbeat(person.session));
    assert_eq!(settle(again, at(3_001)).1, []);
    let (kept, effects) = settle(state.clone(), at(3_000));
    assert_eq!((kept.queue.len(), effects), (1, Vec::new()));
    assert_eq!(settle(state, at(3_001)).1, [canceled(2)]);
}

/// The turn of a person who is away has to be confirmed like any other one.
#[test]
fn a_person_who_is_away_misses_the_turn() {
    let person = Claim { max_stay: SignedDuration::from_hours(4), ..claim(2, 2, TokenKind::User) };
    let (state, _, _) = apply(crowd(0), at(0), LockCommand::Queue(person));
    let holder = Uuid::from_u128(0).into();
    let (state, _, _) = apply(state, at(600), LockCommand::Release(holder));
    let held = state.lock.held.clone().unwrap();
    assert_eq!((held.session, held.lease.expires_at, held.lease.confirmed), (person.session, at(660), false));
    let (state, effects) = settle(state, at(660));
    assert_eq!(effects, [Effect::Ended { session: person.session, end: SessionEnd::Canceled }]);
    assert_eq!(state.lock.held, None);
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

#[test]
fn a_token_at_its_session_limit_is_granted_nothing() {
    let limited = |session, user| Claim { is_at_session_limit: true, ..claim(session, user, TokenKind::Ci) };
    let free = EnvironmentState::default();
    for command in [LockCommand::Claim, LockCommand::Queue, LockCommand::Force] {
        let (state, settled, applied) = apply(free.clone(), at(0), command(limited(9, 9)));
        assert_eq!((state, settled, applied), (free.clone(), Vec::new(), Err(Refusal::SessionLimit)));
    }
    // It may wait for an environment that is held, and takes nothing over by force.
    let (waiting, _, applied) = apply(crowd(0), at(0), LockCommand::Queue(limited(9, 9)));
    assert!(applied.is_ok());
    assert_eq!(waiting.queue.len(), 1);
    let (_, _, applied) = apply(crowd(0), at(0), LockCommand::Force(limited(9, 9)));
    assert_eq!(applied, Err(Refusal::SessionLimit));
}

#[test]
fn a_waiter_at_its_session_limit_is_skipped() {
    let mut state = crowd(2);
    let holder = state.lock.held.as_ref().map(|held| held.session).unwrap();
    let waiting: Vec<_> = state.queue.iter().map(|waiter| waiter.session).collect();
    for waiter in state.queue.iter_mut().filter(|waiter| waiter.session == waiting[0]) {
        waiter.rights = waiter.rights.at_session_limit();
    }
    let (state, _, applied) = apply(state, at(1), LockCommand::Release(holder));
    assert!(applied.unwrap().contains(&Effect::Skipped { session: waiting[0], why: Barred::SessionLimit }));
    assert_eq!(state.lock.held.map(|held| held.session), Some(waiting[1]));
    assert!(state.queue.is_empty());
}

#[test]
fn a_lock_is_shared_with_descendants_only() {
    // Token 6 made 7, and 7 made 10. The others have no parent.
    let ids = |list: &[u128]| list.iter().map(|id| Uuid::from_u128(*id).into()).collect::<Vec<TokenId>>();
    let lineages = [(6, ids(&[6])), (7, ids(&[6, 7])), (10, ids(&[6, 7, 10]))];
    let of_token = |session, token: Option<u128>| {
        let plain = claim(session, 1, TokenKind::Ci);
        let lineage = lineages.iter().find(|(id, _)| Some(*id) == token);
        let owner = Owner { token: token.map(|id| Uuid::from_u128(id).into()), ..plain.owner };
        Claim { owner, lineage: lineage.map_or(&[][..], |(_, lineage)| lineage.as_slice()), ..plain }
    };
    let (state, _, _) = apply(EnvironmentState::default(), at(0), LockCommand::Claim(of_token(1, Some(7))));
    let session = Uuid::from_u128(1).into();
    for (token, refusal) in [
        (Some(7), Refusal::HeldByYou { session }),
        (Some(10), Refusal::HeldByYou { session }),
        (Some(6), Refusal::Locked { session }),
        (Some(8), Refusal::Locked { session }),
        (None, Refusal::Locked { session }),
    ] {
        let (_, _, applied) = apply(state.clone(), at(0), LockCommand::Claim(of_token(2, token)));
        assert_eq!(applied, Err(refusal), "{token:?}");
    }
    // A hand-over is requested with the waiting session of the same token only.
    let (state, _, _) = apply(state, at(0), LockCommand::Queue(of_token(3, Some(8))));
    for (session, token, by) in [(4, 8, 3), (5, 9, 5)] {
        let by_claim = of_token(session, Some(token));
        let grace = SignedDuration::from_mins(5);
        let request = LockCommand::RequestHandover { of: Uuid::from_u128(1).into(), by: by_claim, grace };
        let (_, _, applied) = apply(state.clone(), at(0), request);
        let requester = applied.unwrap().into_iter().find_map(|effect| match effect {
            Effect::HandoverRequested { by, .. } => Some(by),
            _ => None,
        });
        assert_eq!(requester, Some(Uuid::from_u128(by).into()));
    }
}
