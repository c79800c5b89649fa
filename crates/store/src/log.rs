//! Logs of steps: sequences of bytes, stored in segments. Small segments stay in the database until there are
//! enough of them for one object of the object store; the caller moves them there. Readers and writers resume
//! by byte offset.

use std::ops::Range;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, StepRunId};
use greenroom_domain::log_lines::LineCount;
use jiff::Timestamp;

use crate::error::{from_column, to_column};
use crate::job::{JobCredentials, authenticated_step_query};
use crate::{Store, StoreError};

/// No log reaches this offset: a range that ends here has no end.
pub const MAX_OFFSET: u64 = i64::MAX as u64;
/// The maximum number of segments that one query returns.
const MAX_SEGMENTS: i64 = 64;

/// Where the bytes of a segment are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentContent {
    Inline(Vec<u8>),
    /// In the object store, under this name.
    Object(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub start: u64,
    pub bytes: u32,
    pub at: Timestamp,
    /// For a compacted segment: the offset and the time in milliseconds of each part, alternating.
    pub marks: Vec<i64>,
    pub content: SegmentContent,
}

/// A segment to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSegment<'a> {
    pub offset: u64,
    pub at: Timestamp,
    pub bytes: &'a [u8],
    /// The object that contains the bytes. `None`: they are stored in the database.
    pub object: Option<&'a str>,
}

/// The maximum number of segments that one query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLimit {
    /// Segments that begin within this many bytes of the first one's start.
    pub max_bytes: u64,
    /// Whether segments in objects count towards `max_bytes`. Their bytes are not read here.
    pub objects_count: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// All bytes are stored now. `bytes` is the length of the log, and `loose` how much of it is not in an
    /// object yet.
    Appended {
        bytes: u64,
        loose: u64,
        /// A row references this segment. False if all of its bytes were stored before.
        is_new: bool,
    },
    /// The segment begins after the end of the log. It has to begin at this offset.
    Gap(u64),
    /// The log would exceed its maximum length.
    TooLong,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    pub bytes: u64,
    /// The step has ended, so the log is complete.
    pub closed: bool,
    /// When the log was removed at the end of its retention time.
    pub expired_at: Option<Timestamp>,
    /// The number of lines; `None` if a server of an earlier version has stored some of the bytes.
    pub lines: Option<u64>,
}

#[boxed_futures]
impl Store {
    /// Returns how many bytes of a running step's log are stored, or `None` if the job credentials are not
    /// valid or the step is not running.
    pub async fn log_end(
        &self,
        credentials: JobCredentials<'_>,
        step: StepRunId,
    ) -> Result<Option<u64>, StoreError> {
        let organization = credentials.runner.organization_id.uuid();
        let row = authenticated_step_query!(
            "s.log_bytes",
            " and s.status = 'running'",
            organization,
            credentials,
            step
        )
        .fetch_optional(&self.pool())
        .await?;
        row.map(|row| from_column("step_runs.log_bytes", row.log_bytes)).transpose()
    }

    /// Appends a segment to a log of at most `max_length` bytes. If a part of the segment was stored before,
    /// only the rest is appended.
    pub async fn append_log(
        &self,
        credentials: JobCredentials<'_>,
        step: StepRunId,
        segment: NewSegment<'_>,
        max_length: u64,
    ) -> Result<AppendOutcome, StoreError> {
        let NewSegment { offset, at, bytes, object } = segment;
        let length = bytes.len() as u64;
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let organization = transaction.organization();
        let row = authenticated_step_query!(
            "s.log_bytes, s.stored_bytes, s.counted_bytes, s.newlines, s.last_line_start",
            " and s.status = 'running' for update of s",
            organization,
            credentials,
            step
        )
        .fetch_optional(transaction.connection())
        .await?;
        let Some(row) = row else { return Ok(AppendOutcome::Gone) };
        let end: u64 = from_column("step_runs.log_bytes", row.log_bytes)?;
        let stored: u64 = from_column("step_runs.stored_bytes", row.stored_bytes)?;
        let loose: u64 = from_column("step_runs.stored_bytes", row.log_bytes - row.stored_bytes)?;
        if offset > end {
            return Ok(AppendOutcome::Gap(end));
        }
        if offset + length <= end {
            return Ok(AppendOutcome::Appended { bytes: end, loose, is_new: false });
        }
        if offset + length > max_length {
            return Ok(AppendOutcome::TooLong);
        }
        let already_stored = end - offset;
        if object.is_some() && already_stored > 0 {
            // An object can't be appended in part.
            return Ok(AppendOutcome::Gap(end));
        }
        let skipped: usize = to_column("log_segments.content", already_stored)?;
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let content = object.is_none().then_some(bytes);
        let new = length - already_stored;
        let new_bytes: i32 = to_column("log_segments.bytes", new)?;
        let mut count = line_count(row.counted_bytes, row.newlines, row.last_line_start)?;
        // A log with bytes that were not counted stays uncounted from there on.
        let newlines_before = (count.bytes == end).then_some(row.newlines);
        let blocks = match newlines_before {
            Some(_) => block_columns(&count.append(bytes), at)?,
            None => Vec::new(),
        };
        sqlx::query!(
            "insert into log_segments
                 (organization_id, step_run_id, start, bytes, at, content, object, newlines_before, blocks)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            organization,
            step.uuid(),
            row.log_bytes,
            new_bytes,
            jiff_sqlx::Timestamp::from(at) as jiff_sqlx::Timestamp,
            content,
            object,
            newlines_before,
            &blocks,
        )
        .execute(transaction.connection())
        .await?;
        // `stored_bytes` counts the bytes in objects from the beginning of the log. It grows only if all
        // bytes before this segment are in objects: the loose part is one range at the end.
        let stored = if object.is_some() && loose == 0 { end + new } else { stored };
        let log_bytes: i64 = to_column("step_runs.log_bytes", end + new)?;
        let stored_bytes: i64 = to_column("step_runs.stored_bytes", stored)?;
        let counted_bytes: i64 = to_column("step_runs.counted_bytes", count.bytes)?;
        let newlines: i64 = to_column("step_runs.newlines", count.newlines)?;
        let last_line_start: i64 = to_column("step_runs.last_line_start", count.last_line_start)?;
        sqlx::query!(
            "update step_runs set log_bytes = $3, stored_bytes = $4, counted_bytes = $5, newlines = $6,
                 last_line_start = $7
             where organization_id = $1 and id = $2",
            organization,
            step.uuid(),
            log_bytes,
            stored_bytes,
            counted_bytes,
            newlines,
            last_line_start,
        )
        .execute(transaction.connection())
        .await?;
        transaction.commit().await?;
        Ok(AppendOutcome::Appended { bytes: end + new, loose: end + new - stored, is_new: true })
    }

    /// Returns the segments of a byte range, in order, up to the limit.
    pub async fn log_segments(
        &self,
        organization: OrganizationId,
        step: StepRunId,
        range: Range<u64>,
        limit: SegmentLimit,
    ) -> Result<Vec<Segment>, StoreError> {
        let from: i64 = to_column("log_segments.start", range.start)?;
        let to: i64 = to_column("log_segments.start", range.end)?;
        let max_bytes: i64 = to_column("log_segments.bytes", limit.max_bytes)?;
        let rows = sqlx::query!(
            r#"select counted.start as "start!", counted.bytes as "bytes!", counted.at as "at!", counted.content,
                      counted.object, counted.marks as "marks!"
               from (
                   select found.*, sum(case when found.object is null or $6 then found.bytes else 0 end)
                       over (order by found.start) - found.bytes as before
                   from (
                       select start, bytes, at, content, object, marks from log_segments
                       where organization_id = $1 and step_run_id = $2 and start < $4
                         and start >= coalesce((select max(start) from log_segments
                             where organization_id = $1 and step_run_id = $2 and start <= $3), 0)
                       order by start limit $7
                   ) found
               ) counted
               where counted.before < $5 order by counted.start"#,
            organization.uuid(),
            step.uuid(),
            from,
            to,
            max_bytes,
            limit.objects_count,
            MAX_SEGMENTS,
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter()
            .map(|row| {
                let inline = row.content.unwrap_or_default();
                Ok(Segment {
                    start: from_column("log_segments.start", row.start)?,
                    bytes: from_column("log_segments.bytes", row.bytes)?,
                    at: row.at.to_jiff(),
                    marks: row.marks,
                    content: row
                        .object
                        .map_or_else(|| SegmentContent::Inline(inline), SegmentContent::Object),
                })
            })
            .collect()
    }

    /// Replaces segments by one object that contains their bytes. Returns false if the segments were replaced
    /// concurrently.
    pub async fn compact_log(
        &self,
        organization: OrganizationId,
        step: StepRunId,
        parts: &[Segment],
        object: &str,
    ) -> Result<bool, StoreError> {
        let Some(first) = parts.first() else { return Ok(false) };
        let mut transaction = self.system_transaction(organization).await?;
        let organization = transaction.organization();
        sqlx::query!(
            "select 1 as one from step_runs where organization_id = $1 and id = $2 for update",
            organization,
            step.uuid()
        )
        .fetch_one(transaction.connection())
        .await?;
        let start = |part: &Segment| to_column::<u64, i64>("log_segments.start", part.start);
        let starts = parts.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let first_start = start(first)?;
        let length: i64 = parts.iter().map(|part| i64::from(part.bytes)).sum();
        let bytes: i32 = to_column("log_segments.bytes", length)?;
        let mut deleted = sqlx::query!(
            "delete from log_segments
             where organization_id = $1 and step_run_id = $2 and start = any($3) and content is not null
             returning start, newlines_before, blocks",
            organization,
            step.uuid(),
            &starts,
        )
        .fetch_all(transaction.connection())
        .await?;
        if deleted.len() != starts.len() {
            // Another server has compacted them.
            return Ok(false);
        }
        // The blocks of an object are those of its parts, in their order.
        deleted.sort_unstable_by_key(|part| part.start);
        let newlines_before = deleted.first().and_then(|part| part.newlines_before);
        let counted = deleted.into_iter().take_while(|part| part.newlines_before.is_some());
        let blocks: Vec<i64> = counted.flat_map(|part| part.blocks).collect();
        let times = parts.iter().map(|part| part.at.as_millisecond());
        let marks: Vec<i64> = starts.iter().zip(times).flat_map(|(start, time)| [*start, time]).collect();
        sqlx::query!(
            "insert into log_segments
                 (organization_id, step_run_id, start, bytes, at, object, marks, newlines_before, blocks)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            organization,
            step.uuid(),
            first_start,
            bytes,
            jiff_sqlx::Timestamp::from(first.at) as jiff_sqlx::Timestamp,
            object,
            &marks,
            newlines_before,
            &blocks,
        )
        .execute(transaction.connection())
        .await?;
        sqlx::query!(
            "update step_runs set stored_bytes = greatest(stored_bytes, $3)
             where organization_id = $1 and id = $2 and stored_bytes = $4",
            organization,
            step.uuid(),
            first_start + length,
            first_start,
        )
        .execute(transaction.connection())
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Returns the length of a step's log and whether it is complete, or `None` if the deployment has no such
    /// step.
    pub async fn log_state(
        &self,
        organization: OrganizationId,
        deployment: greenroom_domain::id::DeploymentId,
        step: StepRunId,
    ) -> Result<Option<LogState>, StoreError> {
        let row = sqlx::query!(
            r#"select s.log_bytes, s.ended_at is not null as "closed!", d.expired_at, s.counted_bytes,
                      s.newlines, s.last_line_start
               from step_runs s
               join jobs j on j.organization_id = $1 and j.id = s.job_id
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               where s.organization_id = $1 and s.id = $2 and j.deployment_id = $3"#,
            organization.uuid(),
            step.uuid(),
            deployment.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        row.map(|row| {
            let count = line_count(row.counted_bytes, row.newlines, row.last_line_start)?;
            Ok(LogState {
                bytes: from_column("step_runs.log_bytes", row.log_bytes)?,
                closed: row.closed,
                expired_at: row.expired_at.map(jiff_sqlx::Timestamp::to_jiff),
                lines: (row.counted_bytes == row.log_bytes).then(|| count.lines()),
            })
        })
        .transpose()
    }
}

fn line_count(bytes: i64, newlines: i64, last_line_start: i64) -> Result<LineCount, StoreError> {
    Ok(LineCount {
        bytes: from_column("step_runs.counted_bytes", bytes)?,
        newlines: from_column("step_runs.newlines", newlines)?,
        last_line_start: from_column("step_runs.last_line_start", last_line_start)?,
    })
}

/// Returns the value of `log_segments.blocks`: the newlines before each block, and the time of its first byte
/// in milliseconds, alternating.
fn block_columns(newlines: &[u64], at: Timestamp) -> Result<Vec<i64>, StoreError> {
    let mut columns = Vec::with_capacity(newlines.len() * 2);
    for newlines in newlines {
        columns.push(to_column("log_segments.blocks", *newlines)?);
        columns.push(at.as_millisecond());
    }
    Ok(columns)
}
