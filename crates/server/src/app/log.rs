//! Logs: pieces come in by the number of their first byte, and go out by byte as well. Large pieces go to the object store
//! at once, small ones when there are enough of them for an object.

use bytes::{Bytes, BytesMut};
use greenroom_domain::id::{DeploymentId, OrganizationId, StepRunId};
use greenroom_store::job::JobWord;
use greenroom_store::log::{Appended, LogState, Piece, Segment};
use greenroom_store::object::log_name;
use jiff::Timestamp;
use uuid::Uuid;

use crate::app::App;
use crate::app::failure::{Code, Failure};
use crate::app::job::{self, LOG_LIMIT};
use crate::app::job_credentials::JobCredentials;
use crate::app::removal;

pub const LARGEST_PIECE: usize = 1024 * 1024;
/// From here on a piece is an object of its own.
const OBJECT: usize = 256 * 1024;
/// From here on loose pieces are gathered into an object.
const LOOSE: i64 = 1024 * 1024;
/// How much a download reads at a time, and so what it holds in memory.
pub const READ_BYTES: u64 = 256 * 1024;

/// The check before the body of a piece is read: the step runs, in a job of this runner. Returns how long the log is.
pub async fn authorize(app: &App, word: JobWord<'_>, step: StepRunId) -> Result<u64, Failure> {
    let end = app.store.log_end(word, step).await?.ok_or_else(job::gone)?;
    Ok(u64::try_from(end).unwrap_or_default())
}

/// Takes a piece, after [`authorize`]; says how long the log is now.
pub async fn append(
    app: &App,
    word: JobWord<'_>,
    (step, end): (StepRunId, u64),
    (offset, at): (u64, Timestamp),
    bytes: Bytes,
) -> Result<u64, Failure> {
    let fits = end == offset && offset.saturating_add(bytes.len() as u64) <= LOG_LIMIT;
    // Only one that fits is worth an object; whether it still does is decided with the row locked.
    if bytes.len() < OBJECT || !fits {
        let length = bytes.len() as i64;
        let piece = Piece::Here(bytes.to_vec());
        return append_piece(app, word, step, (signed(offset), at), (&piece, length)).await;
    }
    // In a task of its own: a client that breaks off must not leave an object that nothing refers to.
    let (own, credentials) = (app.clone(), JobCredentials::from(word));
    let stored = app.departures.spawn(async move {
        append_object(&own, credentials.word(), step, (signed(offset), at), bytes).await
    });
    stored.await.map_err(Failure::internal)?
}

async fn append_object(
    app: &App,
    word: JobWord<'_>,
    step: StepRunId,
    (offset, at): (i64, Timestamp),
    bytes: Bytes,
) -> Result<u64, Failure> {
    let (organization, length) = (word.runner.organization_id, bytes.len() as i64);
    let name = log_name(organization, step, (offset, length), Uuid::now_v7());
    app.objects.put(&name, bytes).await?;
    append_piece(app, word, step, (offset, at), (&Piece::Object(name), length)).await
}

async fn append_piece(
    app: &App,
    word: JobWord<'_>,
    step: StepRunId,
    (offset, at): (i64, Timestamp),
    (piece, length): (&Piece, i64),
) -> Result<u64, Failure> {
    let organization = word.runner.organization_id;
    let appended = app.store.append_log(word, step, (offset, at), piece, (length, signed(LOG_LIMIT))).await?;
    if let Piece::Object(name) = piece
        && !matches!(appended, Appended::Yes { is_new: true, .. })
    {
        removal::remove_now(app, organization, name).await;
    }
    match appended {
        Appended::Yes { bytes, loose, .. } => {
            app.log_tails.advance(organization, step, bytes);
            if loose >= LOOSE {
                // Also in a task of its own.
                let own = app.clone();
                let gathered = app.departures.spawn(async move { gather(&own, organization, step).await });
                gathered.await.map_err(Failure::internal)??;
            }
            Ok(u64::try_from(bytes).unwrap_or_default())
        }
        Appended::Gap(expected) => {
            let detail = format!("The log has {expected} bytes: go on from there.");
            Err(Failure::new(Code::LogOffset, detail).with("expected", expected.into()))
        }
        Appended::TooLong => {
            let detail = format!("A step may log {LOG_LIMIT} bytes at most. End the step: it has failed.");
            Err(Failure::new(Code::LogLimitExceeded, detail).with("limit", LOG_LIMIT.into()))
        }
        Appended::Gone => Err(job::gone()),
    }
}

/// Puts the loose pieces of a log into one object.
async fn gather(app: &App, organization: OrganizationId, step: StepRunId) -> Result<(), Failure> {
    let mut parts: Vec<Segment> = Vec::new();
    let mut gathered = BytesMut::new();
    let mut from = 0;
    'log: loop {
        let segments = app.store.log_segments(organization, step, (from, i64::MAX), (LOOSE, false)).await?;
        let Some(last) = segments.last() else { break };
        // Its first piece is the one that the position before lies in, so an end of the log would be read again and again.
        let reached = last.start + i64::from(last.bytes);
        if reached <= from {
            break;
        }
        from = reached;
        for segment in segments {
            if let Piece::Here(bytes) = &segment.piece
                && gathered.len() < 2 * LARGEST_PIECE
                && parts.last().is_none_or(|part| part.start + i64::from(part.bytes) == segment.start)
            {
                gathered.extend_from_slice(bytes);
                parts.push(segment);
            } else if !parts.is_empty() {
                break 'log;
            }
        }
        if gathered.len() as i64 >= LOOSE {
            break;
        }
    }
    let Some(first) = parts.first() else { return Ok(()) };
    let name = log_name(organization, step, (first.start, gathered.len() as i64), Uuid::now_v7());
    app.objects.put(&name, gathered.freeze()).await?;
    if !app.store.gather_log(organization, step, &parts, &name).await? {
        removal::remove_now(app, organization, &name).await;
    }
    Ok(())
}

/// A part of a log that is read on, piece by piece.
#[derive(Clone, Debug)]
pub struct Part {
    pub start: u64,
    pub at: Timestamp,
    pub bytes: Bytes,
}

impl Part {
    /// The number of the byte behind its last.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
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

/// The next parts from a byte on, up to `to`, of at most `max_bytes` in all; nothing at the end.
pub async fn parts(
    app: &App,
    organization: OrganizationId,
    step: StepRunId,
    (from, to): (u64, u64),
    max_bytes: u64,
) -> Result<Vec<Part>, Failure> {
    if from >= to {
        return Ok(Vec::new());
    }
    let limits = (signed(max_bytes), true);
    let segments = app.store.log_segments(organization, step, (signed(from), signed(to)), limits).await?;
    let mut parts = Vec::with_capacity(segments.len());
    let mut at = from;
    for segment in segments {
        let start = u64::try_from(segment.start).unwrap_or_default();
        let length = u64::try_from(segment.bytes).unwrap_or_default();
        let (begin, end) = (at.max(start), to.min(start + length).min(from.saturating_add(max_bytes)));
        // Nothing to read of this one, or a gap: the next call begins behind what was read.
        if begin >= end || begin != at {
            continue;
        }
        let (skip, until) = (begin - start, end - start);
        let bytes = match segment.piece {
            Piece::Here(bytes) => {
                let range =
                    usize::try_from(skip).unwrap_or(usize::MAX)..usize::try_from(until).unwrap_or(usize::MAX);
                Bytes::copy_from_slice(bytes.get(range).unwrap_or_default())
            }
            Piece::Object(name) => app.objects.get(&name, skip..until).await?,
        };
        at = end;
        parts.push(Part { start: begin, at: segment.at, bytes });
    }
    Ok(parts)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
