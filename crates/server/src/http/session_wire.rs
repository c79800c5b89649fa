//! Converts sessions to their wire types.

use axum::http::StatusCode;
use greenroom_api_types::environment::Holder;
use greenroom_api_types::session::{
    Displaced, HandoverDeclined, HistoryEntry, ListedSession, Override, Person, Session, SessionDeployment,
};
use greenroom_app::deployment::waiting_on;
use greenroom_app::environment::{cleanup_failed, kind, lock};
use greenroom_app::failure::Failure;
use greenroom_app::session::view::SessionView;
use greenroom_app::web_url::WebUrls;
use greenroom_domain::session::SessionStatus;
use greenroom_store::deployment::DeploymentRecord;
use greenroom_store::live_session::LiveSession;
use greenroom_store::session::{DeclinedHandover, Session as Record};

use crate::http::rules::record_response::RecordResponse;

/// The response of a command or a read with one session. The remaining times of its lease are true only when
/// they are sent. So they are not stored under an idempotency key, and the tag does not cover them.
pub fn respond(status: StatusCode, urls: WebUrls<'_>, view: SessionView) -> Result<RecordResponse, Failure> {
    let sent = session(urls, view);
    let response = RecordResponse::new(status, &sent)?;
    response.with_stored_record(&sent.without_remaining_times())
}

/// A session in the list of all pipelines. It has no remaining times, so that two reads of an unchanged list
/// are equal.
pub fn listed(urls: WebUrls<'_>, live: LiveSession, view: SessionView) -> ListedSession {
    ListedSession {
        session: session(urls, view).without_remaining_times(),
        pipeline_id: live.pipeline_id.to_string(),
        pipeline: live.pipeline_slug,
    }
}

pub fn session(urls: WebUrls<'_>, view: SessionView) -> Session {
    let SessionView { session: record, pipeline_id, env_name, lock: now, deployments, displaced } = view;
    let lock = lock(&now);
    let holds = now.holder.as_ref().is_some_and(|holder| holder.session_id == record.id);
    Session {
        session_id: record.id.to_string(),
        web_url: urls.session(pipeline_id, &env_name, record.id),
        env_name,
        status: record.status.into(),
        holding: holds,
        handover: lock.handover.clone().filter(|_| holds),
        lock,
        overridden: record.status == SessionStatus::Overridden,
        overridden_by: overridden_by(&record),
        claimed_by: claimed_by(&record),
        ended_by: ended_by(&record),
        commit_id: record.commit_id,
        context: record.context,
        queued_at: record.queued_at,
        claimed_at: record.claimed_at,
        expires_at: record.expires_at,
        max_expires_at: record.max_expires_at,
        lease_remaining_ms: record.lease_remaining_ms,
        max_remaining_ms: record.max_remaining_ms,
        ended_at: record.ended_at,
        fence: record.fence,
        handover_declined: record.handover_declined.map(declined),
        position: record.position,
        heartbeat_by: record.heartbeat_by,
        confirm_by: record.confirm_by,
        deployments: deployments.into_iter().map(|record| deployment(urls, record)).collect(),
        cleanup_failed: cleanup_failed(&now),
        displaced: displaced
            .map(|ended| Displaced { session_id: ended.id.to_string(), holder: claimed_by(&ended) }),
    }
}

pub fn history_entry(urls: WebUrls<'_>, record: Record, deployments: Vec<DeploymentRecord>) -> HistoryEntry {
    let between = |from: Option<jiff::Timestamp>, to: Option<jiff::Timestamp>| {
        from.zip(to).map(|(from, to)| to.duration_since(from).as_secs().max(0))
    };
    HistoryEntry {
        session_id: record.id.to_string(),
        status: record.status.into(),
        overridden_by: overridden_by(&record),
        claimed_by: claimed_by(&record),
        ended_by: ended_by(&record),
        waited_seconds: between(record.queued_at, record.claimed_at.or(record.ended_at)),
        held_seconds: between(record.claimed_at, record.ended_at),
        context: record.context,
        commit_id: record.commit_id,
        queued_at: record.queued_at,
        claimed_at: record.claimed_at,
        ended_at: record.ended_at,
        previous_session_id: record.previous_session_id.map(|id| id.to_string()),
        fence: record.fence,
        deployments: deployments.into_iter().map(|record| deployment(urls, record)).collect(),
    }
}

pub fn deployment(urls: WebUrls<'_>, deployment: DeploymentRecord) -> SessionDeployment {
    SessionDeployment {
        waiting_on: waiting_on(&deployment),
        web_url: urls.deployment(deployment.id),
        id: deployment.id.to_string(),
        purpose: deployment.purpose.into(),
        commit_id: deployment.commit_id,
        status: deployment.status.into(),
        reason: deployment.reason.map(Into::into),
        created_at: deployment.created_at,
        started_at: deployment.started_at,
        ended_at: deployment.ended_at,
        deadline_at: deployment.deadline_at,
    }
}

fn declined(declined: DeclinedHandover) -> HandoverDeclined {
    let DeclinedHandover { by, by_name, at, context } = declined;
    let by = by.map(|id| Person { id: id.to_string(), name: by_name.unwrap_or_default() });
    HandoverDeclined { by, at, context }
}

fn claimed_by(record: &Record) -> Holder {
    Holder {
        id: record.user_id.to_string(),
        name: record.user_name.clone(),
        kind: kind(&record.user_kind),
        token: record.token.as_ref().map(|token| token.name.clone()),
    }
}

fn ended_by(record: &Record) -> Option<Person> {
    let id = record.ended_by?.to_string();
    Some(Person { id, name: record.ended_by_name.clone().unwrap_or_default() })
}

fn overridden_by(record: &Record) -> Option<Override> {
    (record.status == SessionStatus::Overridden).then(|| Override {
        by: ended_by(record),
        at: record.ended_at,
        reason: record.override_reason.clone(),
        session_id: record.override_session_id.map(|id| id.to_string()),
    })
}
