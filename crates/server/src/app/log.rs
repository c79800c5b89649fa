//! Logs: pieces come in by the number of their first byte, and go out by byte as well. Large pieces go to the object store
//! at once, small ones when there are enough of them for an object.

use bytes::{Bytes, BytesMut};
use greenroom_domain::id::{DeploymentId, OrganizationId, StepRunId};
use greenroom_store::job::JobWord;
use greenroom_store::log::{Appended, LogState, Piece, Segment};
use greenroom_store::object::log_name;
use jiff::Timestamp;

use crate::app::App;
use crate::app::failure::{Code, Failure};
use crate::app::job::{self, LOG_LIMIT};

pub const LARGEST_PIECE: usize = 1024 * 1024;
/// From here on a piece is an object of its own.
const OBJECT: usize = 256 * 1024;
/// From here on loose pieces are gathered into an object.
const LOOSE: i64 = 1024 * 1024;
/// How many are read at a time.
const PIECES: i64 = 64;

/// Takes a piece; says how long the log is now.
pub async fn append(
    app: &App,
    word: JobWord<'_>,
    step: StepRunId,
    (offset, at): (u64, Timestamp),
    bytes: Bytes,
) -> Result<u64, Failure> {
    let (offset, length) = (signed(offset), bytes.len() as i64);
    let organization = word.runner.organization_id;
    let piece = if bytes.len() >= OBJECT {
        // Only one that fits is worth an object; whether it still does is decided with the row locked.
        let end = app.store.log_end(word, step).await?.ok_or_else(job::gone)?;
        if end == offset && offset + length <= signed(LOG_LIMIT) {
            let name = log_name(organization, step, offset, length);
            app.objects.put(&name, bytes).await?;
            Piece::Object(name)
        } else {
            Piece::Here(bytes.to_vec())
        }
    } else {
        Piece::Here(bytes.to_vec())
    };
    match app.store.append_log(word, step, (offset, at), &piece, (length, signed(LOG_LIMIT))).await? {
        Appended::Yes { bytes, loose } => {
            app.log_bell.notify_waiters();
            if loose >= LOOSE {
                gather(app, organization, step).await?;
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
    loop {
        let segments = app.store.log_segments(organization, step, (from, i64::MAX), PIECES).await?;
        let Some(last) = segments.last() else { break };
        from = last.start + i64::from(last.bytes);
        let full = segments.len() as i64 == PIECES;
        for segment in segments {
            if let Piece::Here(bytes) = &segment.piece
                && gathered.len() < 2 * LARGEST_PIECE
                && parts.last().is_none_or(|part| part.start + i64::from(part.bytes) == segment.start)
            {
                gathered.extend_from_slice(bytes);
                parts.push(segment);
            } else if !parts.is_empty() {
                break;
            }
        }
        if !full || gathered.len() as i64 >= LOOSE {
            break;
        }
    }
    let Some(first) = parts.first() else { return Ok(()) };
    let name = log_name(organization, step, first.start, gathered.len() as i64);
    app.objects.put(&name, gathered.freeze()).await?;
    app.store.gather_log(organization, step, &parts, &name).await?;
    Ok(())
}

/// A part of a log that is read on, piece by piece.
#[derive(Clone, Debug)]
pub struct Part {
    pub start: u64,
    pub at: Timestamp,
    pub bytes: Bytes,
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

/// The next part from a byte on, up to `to`, a few pieces long; nothing at the end.
pub async fn part(
    app: &App,
    organization: OrganizationId,
    step: StepRunId,
    from: u64,
    to: u64,
) -> Result<Vec<Part>, Failure> {
    if from >= to {
        return Ok(Vec::new());
    }
    let segments = app.store.log_segments(organization, step, (signed(from), signed(to)), 8).await?;
    let mut parts = Vec::with_capacity(segments.len());
    for segment in segments {
        let start = u64::try_from(segment.start).unwrap_or_default();
        let length = u64::try_from(segment.bytes).unwrap_or_default();
        let (begin, end) = (from.max(start), to.min(start + length));
        if begin >= end {
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
        parts.push(Part { start: begin, at: segment.at, bytes });
    }
    Ok(parts)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
