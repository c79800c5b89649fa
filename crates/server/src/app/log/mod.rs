//! Logs. Pieces are appended at a byte offset, and logs are read by byte range. Large pieces are stored as
//! objects immediately; small pieces are stored in PostgreSQL until there are enough of them for an object.

pub mod read;
pub mod tail;

use bytes::{Bytes, BytesMut};
use greenroom_domain::id::{DeploymentId, OrganizationId, StepRunId};
use greenroom_store::job::JobCredentials;
use greenroom_store::log::{AppendOutcome, LogState, Segment, SegmentContent};
use greenroom_store::object::log_name;
use jiff::Timestamp;
use uuid::Uuid;

use crate::app::App;
use crate::app::failure::{Code, Failure};
use crate::app::job::credentials::OwnedJobCredentials;
use crate::app::job::{self, MAX_LOG_BYTES};
use crate::app::live::object_gc;
use crate::app::log::read::signed;

pub const MAX_PIECE_BYTES: usize = 1024 * 1024;
/// A piece of at least this size becomes an object.
const OBJECT_THRESHOLD_BYTES: usize = 256 * 1024;
/// At this total size the pieces in PostgreSQL are gathered into an object.
const GATHER_THRESHOLD_BYTES: i64 = 1024 * 1024;

/// Checks, before the body of a piece is read, that the step is running in a job of this runner. Returns the
/// length of the log.
pub async fn authorize(app: &App, credentials: JobCredentials<'_>, step: StepRunId) -> Result<u64, Failure> {
    let end = app.store.log_end(credentials, step).await?.ok_or_else(job::gone)?;
    Ok(u64::try_from(end).unwrap_or_default())
}

/// Appends a piece, and returns the new length of the log. The caller must have called [`authorize`].
pub async fn append(
    app: &App,
    credentials: JobCredentials<'_>,
    (step, end): (StepRunId, u64),
    (offset, at): (u64, Timestamp),
    bytes: Bytes,
) -> Result<u64, Failure> {
    let fits = end == offset && offset.saturating_add(bytes.len() as u64) <= MAX_LOG_BYTES;
    // Only a piece that fits is stored as an object. Whether it still fits is decided with the row locked.
    if bytes.len() < OBJECT_THRESHOLD_BYTES || !fits {
        let length = bytes.len() as i64;
        let piece = SegmentContent::Inline(bytes.to_vec());
        return append_piece(app, credentials, step, (signed(offset), at), (&piece, length)).await;
    }
    // In a detached task: a client that disconnects must not leave an unreferenced object.
    let (own, credentials) = (app.clone(), OwnedJobCredentials::from(credentials));
    let stored = app.detached_tasks.spawn(async move {
        append_object(&own, credentials.credentials(), step, (signed(offset), at), bytes).await
    });
    stored.await.map_err(Failure::internal)?
}

async fn append_object(
    app: &App,
    credentials: JobCredentials<'_>,
    step: StepRunId,
    (offset, at): (i64, Timestamp),
    bytes: Bytes,
) -> Result<u64, Failure> {
    let (organization, length) = (credentials.runner.organization_id, bytes.len() as i64);
    let name = log_name(organization, step, (offset, length), Uuid::now_v7());
    app.objects.put(&name, bytes).await?;
    append_piece(app, credentials, step, (offset, at), (&SegmentContent::Object(name), length)).await
}

async fn append_piece(
    app: &App,
    credentials: JobCredentials<'_>,
    step: StepRunId,
    (offset, at): (i64, Timestamp),
    (piece, length): (&SegmentContent, i64),
) -> Result<u64, Failure> {
    let organization = credentials.runner.organization_id;
    let appended =
        app.store.append_log(credentials, step, (offset, at), piece, (length, signed(MAX_LOG_BYTES))).await?;
    if let SegmentContent::Object(name) = piece
        && !matches!(appended, AppendOutcome::Appended { is_new: true, .. })
    {
        object_gc::remove_now(app, organization, name).await;
    }
    match appended {
        AppendOutcome::Appended { bytes, loose, .. } => {
            app.log_tails.advance(organization, step, bytes);
            if loose >= GATHER_THRESHOLD_BYTES {
                // Also in a detached task.
                let own = app.clone();
                let gathered =
                    app.detached_tasks.spawn(async move { gather(&own, organization, step).await });
                gathered.await.map_err(Failure::internal)??;
            }
            Ok(u64::try_from(bytes).unwrap_or_default())
        }
        AppendOutcome::Gap(expected) => {
            let detail = format!("The log has {expected} bytes: go on from there.");
            Err(Failure::new(Code::LogOffset, detail).with("expected", expected.into()))
        }
        AppendOutcome::TooLong => {
            let detail =
                format!("A step may log {MAX_LOG_BYTES} bytes at most. End the step: it has failed.");
            Err(Failure::new(Code::LogLimitExceeded, detail).with("limit", MAX_LOG_BYTES.into()))
        }
        AppendOutcome::Gone => Err(job::gone()),
    }
}

/// Gathers the pieces of a log that are in PostgreSQL into one object.
async fn gather(app: &App, organization: OrganizationId, step: StepRunId) -> Result<(), Failure> {
    let mut parts: Vec<Segment> = Vec::new();
    let mut gathered = BytesMut::new();
    let mut from = 0;
    'log: loop {
        let segments = app
            .store
            .log_segments(organization, step, (from, i64::MAX), (GATHER_THRESHOLD_BYTES, false))
            .await?;
        let Some(last) = segments.last() else { break };
        // A page begins with the piece that contains `from`, so without this check the last piece would be
        // read forever.
        let reached = last.start + i64::from(last.bytes);
        if reached <= from {
            break;
        }
        from = reached;
        for segment in segments {
            if let SegmentContent::Inline(bytes) = &segment.content
                && gathered.len() < 2 * MAX_PIECE_BYTES
                && parts.last().is_none_or(|part| part.start + i64::from(part.bytes) == segment.start)
            {
                gathered.extend_from_slice(bytes);
                parts.push(segment);
            } else if !parts.is_empty() {
                break 'log;
            }
        }
        if gathered.len() as i64 >= GATHER_THRESHOLD_BYTES {
            break;
        }
    }
    let Some(first) = parts.first() else { return Ok(()) };
    let name = log_name(organization, step, (first.start, gathered.len() as i64), Uuid::now_v7());
    app.objects.put(&name, gathered.freeze()).await?;
    if !app.store.compact_log(organization, step, &parts, &name).await? {
        object_gc::remove_now(app, organization, &name).await;
    }
    Ok(())
}

pub async fn state(
    app: &App,
    organization: OrganizationId,
    deployment: DeploymentId,
    step: StepRunId,
) -> Result<LogState, Failure> {
    let state = app.store.log_state(organization, deployment, step).await?.ok_or_else(Failure::not_found)?;
    match state.expired_at {
        None => Ok(state),
        Some(at) => Err(Failure::new(
            Code::LogExpired,
            "This log was removed, because its deployment ended longer ago than logs are kept. Deploy the commit again to see \
             what it does.",
        )
        .with("expiredAt", at.to_string().into())),
    }
}
