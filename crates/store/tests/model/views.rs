//! Compares the store's views of sessions and locks with the model.

use greenroom_domain::id::SessionId;
use greenroom_domain::lock::OnSilence;
use greenroom_domain::queue::heartbeat_deadline;
use greenroom_domain::session::SessionStatus;
use greenroom_store::environment::{HandoverRequest, Holder, LockView};
use greenroom_store::session::{DeclinedHandover, Session};
use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;
use crate::fixture::ModelFixture;
use crate::model::{Model, place_timeout, user_id};
use crate::record::{Environment, Record};
use crate::step::MARGIN;

/// Compares the views of an environment with the model: its history and its queue.
pub async fn compare(fixture: &ModelFixture, model: &Model, clock: &Clock, place: usize) {
    let (store, organization, id) =
        (&fixture.shared.store, fixture.organization(), fixture.environments[place]);
    let environment = &model.environments[place];
    let expected: Vec<_> =
        (0..environment.sessions.len()).map(|ordinal| session(fixture, model, place, ordinal)).collect();

    let count = i64::try_from(expected.len()).unwrap();
    let mut history = store.session_history(organization, id, count, 0, count + 1).await.unwrap();
    history.reverse();
    let view: Vec<_> = history
        .into_iter()
        .enumerate()
        .map(|(ordinal, view)| in_model(fixture, clock, view, expected.get(ordinal)))
        .collect();
    assert_eq!(view, expected, "the history differs from the machine's effects");

    // An empty queue is already covered by the history.
    if environment.state.queue.is_empty() {
        return;
    }
    let queue = store.session_queue(organization, id).await.unwrap();
    let queue: Vec<SessionId> = queue.into_iter().map(|waiting| fixture.modeled(waiting.id)).collect();
    let waiting: Vec<SessionId> = environment.state.queue.iter().map(|waiting| waiting.session).collect();
    assert_eq!(queue, waiting, "the queue differs from the machine's");
}

/// Compares the lock views of all environments with the model.
pub async fn compare_locks(fixture: &ModelFixture, model: &Model, clock: &Clock) {
    let view = fixture.shared.store.environments(fixture.organization(), fixture.pipeline).await.unwrap();
    assert_eq!(view.len(), model.environments.len());
    for (view, environment) in view.into_iter().zip(&model.environments) {
        let expected = lock(fixture, model.now, environment);
        assert_eq!(
            lock_in_model(fixture, clock, view.lock, &expected),
            expected,
            "the lock view differs from the machine's state"
        );
    }
}

/// Returns the expected view of a session.
pub fn session(fixture: &ModelFixture, model: &Model, place: usize, ordinal: usize) -> Session {
    let environment = &model.environments[place];
    let record = &environment.sessions[ordinal];
    let person = &fixture.shared.people[record.user];
    let held = environment.state.lock.held.as_ref().filter(|held| held.session == record.id);
    let over = held.filter(|held| held.lease.is_over(model.now));
    let status = match over {
        Some(held) if held.lease.confirmed => SessionStatus::Expired,
        Some(_) => SessionStatus::Canceled,
        None => record.status,
    };
    let position = environment.state.queue.position(record.id).map(|place| i64::try_from(place).unwrap());
    Session {
        id: record.id,
        status,
        heartbeat_by: record
            .heard_at
            .filter(|_| status == SessionStatus::Queued)
            .map(|at| heartbeat_deadline(at, place_timeout(record.user))),
        confirm_by: held
            .filter(|held| status == SessionStatus::Active && !held.lease.confirmed)
            .map(|held| held.lease.expires_at),
        user_id: user_id(record.user),
        user_name: person.user_name.clone(),
        user_kind: person.token_kind.to_string(),
        token: person.service_token.clone(),
        context: record.context.clone(),
        commit_id: record.commit.clone(),
        unsettled: over.is_some(),
        fence: record.fence,
        position,
        queued_at: record.queued_at,
        claimed_at: record.claimed_at,
        expires_at: record.expires_at,
        max_expires_at: record.max_expires_at,
        lease_remaining_ms: None,
        max_remaining_ms: None,
        ended_at: over.map(|held| held.lease.expires_at).or(record.ended_at),
        ended_by: record.ended_by.map(user_id),
        ended_by_name: record.ended_by.map(|user| fixture.shared.people[user].user_name.clone()),
        override_session_id: record.override_session,
        override_reason: record.override_reason.clone(),
        previous_session_id: ordinal.checked_sub(1).map(|before| environment.sessions[before].id),
        handover_declined: record.declined.clone().map(|(by, at, context)| DeclinedHandover {
            by: Some(user_id(by)),
            by_name: Some(fixture.shared.people[by].user_name.clone()),
            at,
            context,
        }),
    }
}

/// Returns the expected view of a lock. An expired lease does not count as held.
pub fn lock(fixture: &ModelFixture, now: Timestamp, environment: &Environment) -> LockView {
    let holder = environment.state.lock.holder(now).map(|held| {
        let record: &Record = environment.sessions.iter().find(|record| record.id == held.session).unwrap();
        let person = &fixture.shared.people[record.user];
        Holder {
            session_id: held.session,
            user_id: held.owner.user,
            name: person.user_name.clone(),
            kind: person.token_kind.to_string(),
            token: person.service_token.clone(),
            context: record.context.clone(),
            commit_id: record.commit.clone(),
            claimed_at: record.claimed_at.unwrap(),
            expires_at: held.lease.expires_at,
            max_expires_at: held.lease.max_expires_at,
            confirmed: held.lease.confirmed,
            fence: environment.state.lock.fence,
        }
    });
    let queue_length = i32::try_from(environment.state.queue.len()).unwrap();
    let handover = environment.state.lock.holder(now).and_then(|held| held.handover);
    let handover =
        handover.zip(environment.handover_request.clone()).map(|(handover, (context, requested_at))| {
            let by = environment.sessions.iter().find(|record| record.id == handover.session).unwrap();
            let person = &fixture.shared.people[by.user];
            HandoverRequest {
                session_id: handover.session,
                user_id: user_id(by.user),
                name: person.user_name.clone(),
                kind: person.token_kind.to_string(),
                token_name: person.service_token.as_ref().map(|token| token.name.clone()),
                context,
                requested_at,
                due_at: handover.due_at,
                accepts: handover.on_silence == OnSilence::Accept,
            }
        });
    LockView { holder, queue_length, handover, cleanup_failed: None }
}

pub fn in_model(fixture: &ModelFixture, clock: &Clock, view: Session, expected: Option<&Session>) -> Session {
    let time = |real, expected: Option<Option<Timestamp>>| clock.modeled(real, expected.flatten());
    check_remaining(clock, &view);
    Session {
        lease_remaining_ms: None,
        max_remaining_ms: None,
        id: fixture.modeled(view.id),
        user_id: fixture.modeled_user(view.user_id),
        heartbeat_by: time(view.heartbeat_by, expected.map(|expected| expected.heartbeat_by)),
        confirm_by: time(view.confirm_by, expected.map(|expected| expected.confirm_by)),
        queued_at: time(view.queued_at, expected.map(|expected| expected.queued_at)),
        claimed_at: time(view.claimed_at, expected.map(|expected| expected.claimed_at)),
        expires_at: time(view.expires_at, expected.map(|expected| expected.expires_at)),
        max_expires_at: time(view.max_expires_at, expected.map(|expected| expected.max_expires_at)),
        ended_at: time(view.ended_at, expected.map(|expected| expected.ended_at)),
        ended_by: view.ended_by.map(|user| fixture.modeled_user(user)),
        override_session_id: view.override_session_id.map(|id| fixture.modeled(id)),
        previous_session_id: view.previous_session_id.map(|id| fixture.modeled(id)),
        handover_declined: view.handover_declined.map(|declined| {
            let expected = expected.and_then(|expected| expected.handover_declined.as_ref());
            DeclinedHandover {
                by: declined.by.map(|user| fixture.modeled_user(user)),
                at: clock.modeled(Some(declined.at), expected.map(|expected| expected.at)).unwrap(),
                ..declined
            }
        }),
        ..view
    }
}

/// Checks the remaining times of a session, which are different in every read: the view was read that long
/// before the ends of its lease.
fn check_remaining(clock: &Clock, view: &Session) {
    let ends = [(view.lease_remaining_ms, view.expires_at), (view.max_remaining_ms, view.max_expires_at)];
    for (remaining, end) in ends {
        assert_eq!(remaining.is_some(), view.status == SessionStatus::Active, "only a lease has an end");
        let Some((remaining, end)) = remaining.zip(end) else { continue };
        let read = end - SignedDuration::from_millis(remaining);
        let latest = clock.read + SignedDuration::from_secs(MARGIN);
        assert!((clock.started..=latest).contains(&read), "{remaining} ms are left until {end}");
    }
}

pub fn lock_in_model(fixture: &ModelFixture, clock: &Clock, view: LockView, expected: &LockView) -> LockView {
    let expected_handover = expected.handover.as_ref();
    let handover = view.handover.map(|request| HandoverRequest {
        session_id: fixture.modeled(request.session_id),
        user_id: fixture.modeled_user(request.user_id),
        requested_at: clock
            .modeled(
                Some(request.requested_at),
                expected_handover.map(|expected_handover| expected_handover.requested_at),
            )
            .unwrap(),
        due_at: clock
            .modeled(
                Some(request.due_at),
                expected_handover.map(|expected_handover| expected_handover.due_at),
            )
            .unwrap(),
        ..request
    });
    let expected = expected.holder.as_ref();
    let holder = view.holder.map(|holder| Holder {
        session_id: fixture.modeled(holder.session_id),
        user_id: fixture.modeled_user(holder.user_id),
        claimed_at: clock.modeled(Some(holder.claimed_at), expected.map(|holder| holder.claimed_at)).unwrap(),
        expires_at: clock.modeled(Some(holder.expires_at), expected.map(|holder| holder.expires_at)).unwrap(),
        max_expires_at: clock
            .modeled(Some(holder.max_expires_at), expected.map(|holder| holder.max_expires_at))
            .unwrap(),
        ..holder
    });
    LockView { holder, handover, ..view }
}
