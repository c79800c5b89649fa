//! Logs. Pieces are appended at a byte offset, and logs are read by byte range. Large pieces are stored as
//! objects immediately; small pieces are stored in PostgreSQL until there are enough of them for an object.

pub mod line_finder;
pub mod lines;
pub mod search;
pub mod tail;

use bytes::{Bytes, BytesMut};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId, StepRunId};
use greenroom_store::job::JobCredentials;
use greenroom_store::log::{
    AppendOutcome, LogState, MAX_OFFSET, NewSegment, Segment, SegmentContent, SegmentLimit,
};
use greenroom_store::object::log_name;
use jiff::Timestamp;
use uuid::Uuid;

use crate::App;
use crate::failure::{Code, Failure};
use crate::job::MAX_LOG_BYTES;
use crate::job::credentials::OwnedJobCredentials;
use crate::job::refusal::gone;
use crate::live::object_gc;

/// Identifies a step's log.
#[derive(Clone, Copy, Debug)]
pub struct LogKey {
    pub organization: OrganizationId,
    pub step: StepRunId,
}

pub const MAX_PIECE_BYTES: usize = 1024 * 1024;
/// A piece of at least this size becomes an object.
const OBJECT_THRESHOLD_BYTES: usize = 256 * 1024;
/// At this total size the pieces in PostgreSQL are gathered into an object.
const GATHER_THRESHOLD_BYTES: u64 = 1024 * 1024;

/// Checks, before the body of a piece is read, that the step is running in a job of this runner. Returns the
/// length of the log.
#[boxed_futures]
pub async fn authorize(app: &App, credentials: JobCredentials<'_>, step: StepRunId) -> Result<u64, Failure> {
    app.store.log_end(credentials, step).await?.ok_or_else(gone)
}

/// A piece of a log, as a runner sends it.
#[derive(Clone, Debug)]
pub struct LogPiece {
    /// The position of its first byte in the log.
    pub offset: u64,
    /// When it was written, by the runner's clock.
    pub at: Timestamp,
    pub bytes: Bytes,
}

/// Appends a piece, and returns the new length of the log. `end` is its length as [`authorize`], which the
/// caller must have called, has returned it.
#[boxed_futures]
pub async fn append(
    app: &App,
    credentials: JobCredentials<'_>,
    step: StepRunId,
    end: u64,
    piece: LogPiece,
) -> Result<u64, Failure> {
    let LogPiece { offset, at, bytes } = piece;
    let fits = end == offset && offset.saturating_add(bytes.len() as u64) <= MAX_LOG_BYTES;
    // Only a piece that fits is stored as an object. Whether it still fits is decided with the row locked.
    if bytes.len() < OBJECT_THRESHOLD_BYTES || !fits {
        let segment = NewSegment { offset, at, bytes: &bytes, object: None };
        return append_segment(app, credentials, step, segment).await;
    }
    // In a detached task: a client that disconnects must not leave an unreferenced object.
    let (own, credentials) = (app.clone(), OwnedJobCredentials::from(credentials));
    let stored = app.detached_tasks.spawn(async move {
        append_object(&own, credentials.credentials(), step, LogPiece { offset, at, bytes }).await
    });
    stored.await.map_err(Failure::internal)?
}

async fn append_object(
    app: &App,
    credentials: JobCredentials<'_>,
    step: StepRunId,
    piece: LogPiece,
) -> Result<u64, Failure> {
    let LogPiece { offset, at, bytes } = piece;
    let length = bytes.len() as u64;
    let organization = credentials.runner.organization_id;
    let name = log_name(organization, step, offset..offset + length, Uuid::now_v7());
    app.objects.put(&name, bytes.clone()).await?;
    let segment = NewSegment { offset, at, bytes: &bytes, object: Some(&name) };
    append_segment(app, credentials, step, segment).await
}

async fn append_segment(
    app: &App,
    credentials: JobCredentials<'_>,
    step: StepRunId,
    segment: NewSegment<'_>,
) -> Result<u64, Failure> {
    let organization = credentials.runner.organization_id;
    let appended = app.store.append_log(credentials, step, segment, MAX_LOG_BYTES).await?;
    if let Some(name) = segment.object
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
            Ok(bytes)
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
        AppendOutcome::Gone => Err(gone()),
    }
}

/// Gathers the pieces of a log that are in PostgreSQL into one object.
async fn gather(app: &App, organization: OrganizationId, step: StepRunId) -> Result<(), Failure> {
    let mut parts: Vec<Segment> = Vec::new();
    let mut gathered = BytesMut::new();
    let mut from = 0;
    'log: loop {
        let limit = SegmentLimit { max_bytes: GATHER_THRESHOLD_BYTES, objects_count: false };
        let segments = app.store.log_segments(organization, step, from..MAX_OFFSET, limit).await?;
        let Some(last) = segments.last() else { break };
        // A page begins with the piece that contains `from`, so without this check the last piece would be
        // read forever.
        let reached = last.start + u64::from(last.bytes);
        if reached <= from {
            break;
        }
        from = reached;
        for segment in segments {
            if let SegmentContent::Inline(bytes) = &segment.content
                && gathered.len() < 2 * MAX_PIECE_BYTES
                && parts.last().is_none_or(|part| part.start + u64::from(part.bytes) == segment.start)
            {
                gathered.extend_from_slice(bytes);
                parts.push(segment);
            } else if !parts.is_empty() {
                break 'log;
            }
        }
        if gathered.len() as u64 >= GATHER_THRESHOLD_BYTES {
            break;
        }
    }
    let Some(first) = parts.first() else { return Ok(()) };
    let bytes = first.start..first.start + gathered.len() as u64;
    let name = log_name(organization, step, bytes, Uuid::now_v7());
    app.objects.put(&name, gathered.freeze()).await?;
    if !app.store.compact_log(organization, step, &parts, &name).await? {
        object_gc::remove_now(app, organization, &name).await;
    }
    Ok(())
}

#[boxed_futures]
pub async fn state(
    app: &App,
    organization: OrganizationId,
    deployment: DeploymentId,
    step: StepRunId,
) -> Result<LogState, Failure> {
    let state = app.store.log_state(organization, deployment, step).await?.ok_or_else(Failure::not_found)?;
    match state.expired_at {
        None => Ok(state),
        Some(at) => Err(expired().with("expiredAt", at.to_string().into())),
    }
}

/// The log was removed, before the request or while it was read.
pub fn expired() -> Failure {
    Failure::new(
        Code::LogExpired,
        "This log was removed, because its deployment ended longer ago than logs are kept. Deploy the commit again to see \
         what it does.",
    )
}
