//! Sessions and locks as the store shows them, by the clock, against the model.

use greenroom_domain::id::SessionId;
use greenroom_domain::lock::OnSilence;
use greenroom_domain::queue::silent_from;
use greenroom_domain::session::SessionStatus;
use greenroom_store::environment::{HandoverRequest, Holder, LockView};
use greenroom_store::session::{Declined, Session};
use jiff::Timestamp;

use crate::case::Case;
use crate::clock::Clock;
use crate::model::{Model, user_id};
use crate::record::{Environment, Record};

/// Holds what the store shows of an environment to the model: its lock, its history and its queue.
pub async fn compare(case: &Case, model: &Model, clock: &Clock, place: usize) {
    let (store, organization, id) = (&case.ground.store, case.organization(), case.environments[place]);
    let environment = &model.environments[place];
    let expected: Vec<_> =
        (0..environment.sessions.len()).map(|ordinal| session(case, model, place, ordinal)).collect();

    let count = i64::try_from(expected.len()).unwrap();
    let mut history = store.session_history(organization, id, count, 0, count + 1).await.unwrap();
    history.reverse();
    let shown: Vec<_> = history
        .into_iter()
        .enumerate()
        .map(|(ordinal, shown)| in_model(case, clock, shown, expected.get(ordinal)))
        .collect();
    assert_eq!(shown, expected, "the history is not what the machine said");

    // If nobody waits, the history has shown so.
    if environment.state.queue.is_empty() {
        return;
    }
    let queue = store.session_queue(organization, id).await.unwrap();
    let queue: Vec<SessionId> = queue.into_iter().map(|waiting| case.modeled(waiting.id)).collect();
    let waiting: Vec<SessionId> = environment.state.queue.iter().map(|waiting| waiting.session).collect();
    assert_eq!(queue, waiting, "the queue is not the machine's");
}

/// Holds the locks that the store shows of all environments to the model.
pub async fn compare_locks(case: &Case, model: &Model, clock: &Clock) {
    let shown = case.ground.store.environments(case.organization(), case.pipeline).await.unwrap();
    assert_eq!(shown.len(), model.environments.len());
    for (shown, environment) in shown.into_iter().zip(&model.environments) {
        let expected = lock(case, model.now, environment);
        assert_eq!(
            lock_in_model(case, clock, shown.lock, &expected),
            expected,
            "the lock is not shown as the machine has it"
        );
    }
}

/// A session as it is to be shown.
pub fn session(case: &Case, model: &Model, place: usize, ordinal: usize) -> Session {
    let environment = &model.environments[place];
    let record = &environment.sessions[ordinal];
    let person = &case.ground.people[record.user];
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
        heartbeat_by: record.heard_at.filter(|_| status == SessionStatus::Queued).map(silent_from),
        confirm_by: held
            .filter(|held| status == SessionStatus::Active && !held.lease.confirmed)
            .map(|held| held.lease.expires_at),
        user_id: user_id(record.user),
        user_name: person.user_name.clone(),
        user_kind: person.token_kind.to_string(),
        context: record.context.clone(),
        commit_id: record.commit.clone(),
        unsettled: over.is_some(),
        fence: record.fence,
        position,
        queued_at: record.queued_at,
        claimed_at: record.claimed_at,
        expires_at: record.expires_at,
        max_expires_at: record.max_expires_at,
        ended_at: over.map(|held| held.lease.expires_at).or(record.ended_at),
        ended_by: record.ended_by.map(user_id),
        ended_by_name: record.ended_by.map(|user| case.ground.people[user].user_name.clone()),
        override_session_id: record.override_session,
        override_reason: record.override_reason.clone(),
        previous_session_id: ordinal.checked_sub(1).map(|before| environment.sessions[before].id),
        handover_declined: record.declined.clone().map(|(by, at, context)| Declined {
            by: Some(user_id(by)),
            by_name: Some(case.ground.people[by].user_name.clone()),
            at,
            context,
        }),
    }
}

/// A lock as it is to be shown: what has run out holds nothing.
pub fn lock(case: &Case, now: Timestamp, environment: &Environment) -> LockView {
    let holder = environment.state.lock.holder(now).map(|held| {
        let record: &Record = environment.sessions.iter().find(|record| record.id == held.session).unwrap();
        let person = &case.ground.people[record.user];
        Holder {
            session_id: held.session,
            user_id: held.user,
            name: person.user_name.clone(),
            kind: person.token_kind.to_string(),
            context: record.context.clone(),
            commit_id: record.commit.clone(),
            claimed_at: record.claimed_at.unwrap(),
            expires_at: held.lease.expires_at,
            confirmed: held.lease.confirmed,
            fence: environment.state.lock.fence,
        }
    });
    let queue_length = i32::try_from(environment.state.queue.len()).unwrap();
    let asked = environment.state.lock.holder(now).and_then(|held| held.handover);
    let handover = asked.zip(environment.asked.clone()).map(|(asked, (context, requested_at))| {
        let by = environment.sessions.iter().find(|record| record.id == asked.session).unwrap();
        let person = &case.ground.people[by.user];
        HandoverRequest {
            session_id: asked.session,
            user_id: user_id(by.user),
            name: person.user_name.clone(),
            kind: person.token_kind.to_string(),
            context,
            requested_at,
            due_at: asked.due_at,
            accepts: asked.on_silence == OnSilence::Accept,
        }
    });
    LockView { holder, queue_length, handover, cleanup_failed: None }
}

pub fn in_model(case: &Case, clock: &Clock, shown: Session, expected: Option<&Session>) -> Session {
    let time = |real, expected: Option<Option<Timestamp>>| clock.modeled(real, expected.flatten());
    Session {
        id: case.modeled(shown.id),
        user_id: case.modeled_user(shown.user_id),
        heartbeat_by: time(shown.heartbeat_by, expected.map(|expected| expected.heartbeat_by)),
        confirm_by: time(shown.confirm_by, expected.map(|expected| expected.confirm_by)),
        queued_at: time(shown.queued_at, expected.map(|expected| expected.queued_at)),
        claimed_at: time(shown.claimed_at, expected.map(|expected| expected.claimed_at)),
        expires_at: time(shown.expires_at, expected.map(|expected| expected.expires_at)),
        max_expires_at: time(shown.max_expires_at, expected.map(|expected| expected.max_expires_at)),
        ended_at: time(shown.ended_at, expected.map(|expected| expected.ended_at)),
        ended_by: shown.ended_by.map(|user| case.modeled_user(user)),
        override_session_id: shown.override_session_id.map(|id| case.modeled(id)),
        previous_session_id: shown.previous_session_id.map(|id| case.modeled(id)),
        handover_declined: shown.handover_declined.map(|declined| {
            let expected = expected.and_then(|expected| expected.handover_declined.as_ref());
            Declined {
                by: declined.by.map(|user| case.modeled_user(user)),
                at: clock.modeled(Some(declined.at), expected.map(|expected| expected.at)).unwrap(),
                ..declined
            }
        }),
        ..shown
    }
}

pub fn lock_in_model(case: &Case, clock: &Clock, shown: LockView, expected: &LockView) -> LockView {
    let asked = expected.handover.as_ref();
    let handover = shown.handover.map(|request| HandoverRequest {
        session_id: case.modeled(request.session_id),
        user_id: case.modeled_user(request.user_id),
        requested_at: clock
            .modeled(Some(request.requested_at), asked.map(|asked| asked.requested_at))
            .unwrap(),
        due_at: clock.modeled(Some(request.due_at), asked.map(|asked| asked.due_at)).unwrap(),
        ..request
    });
    let expected = expected.holder.as_ref();
    let holder = shown.holder.map(|holder| Holder {
        session_id: case.modeled(holder.session_id),
        user_id: case.modeled_user(holder.user_id),
        claimed_at: clock.modeled(Some(holder.claimed_at), expected.map(|holder| holder.claimed_at)).unwrap(),
        expires_at: clock.modeled(Some(holder.expires_at), expected.map(|holder| holder.expires_at)).unwrap(),
        ..holder
    });
    LockView { holder, handover, ..shown }
}
