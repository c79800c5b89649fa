//! Logs of steps: a row of bytes, in pieces. Small pieces are kept here until there are enough of them for an object of
//! the object store; the caller moves them there. A byte's number is its place in the log, and all that a reader or a
//! writer needs to go on where it was.

use greenroom_domain::id::{OrganizationId, StepRunId};
use jiff::Timestamp;

use crate::job::{JobWord, own_step_query};
use crate::{Store, StoreError};

/// How many pieces are read by one query.
const MAX_SEGMENTS: i64 = 64;

/// Where the bytes of a piece are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Here(Vec<u8>),
    /// In the object store, under this name.
    Object(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub start: i64,
    pub bytes: i32,
    pub at: Timestamp,
    /// Of one that was put together: byte and millisecond of each part.
    pub marks: Vec<i64>,
    pub piece: Piece,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// All of it is here now: how long the log is, and how much of it is not in an object yet.
    Yes {
        bytes: i64,
        loose: i64,
        /// A row refers to this piece. Not for one whose bytes were all stored before.
        is_new: bool,
    },
    /// The piece begins behind the end; this is where it has to begin.
    Gap(i64),
    /// The log would be longer than it may be.
    TooLong,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    pub bytes: i64,
    /// The step has ended: nothing more comes.
    pub closed: bool,
    /// When all of it was removed, because its time was over.
    pub expired_at: Option<Timestamp>,
}

impl Store {
    /// How many bytes of a running step's log are stored; `None` if the job credentials are not valid, or the step does not run.
    pub async fn log_end(&self, word: JobWord<'_>, step: StepRunId) -> Result<Option<i64>, StoreError> {
        let organization = word.runner.organization_id.uuid();
        let row = own_step_query!("s.log_bytes", " and s.status = 'running'", organization, word, step)
            .fetch_optional(&self.pool())
            .await?;
        Ok(row.map(|row| row.log_bytes))
    }

    /// Puts a piece at the end of a log. One that was sent before is taken as far as it is new.
    pub async fn append_log(
        &self,
        word: JobWord<'_>,
        step: StepRunId,
        (offset, at): (i64, Timestamp),
        piece: &Piece,
        (length, most): (i64, i64),
    ) -> Result<Appended, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let organization = change.organization();
        let row = own_step_query!(
            "s.log_bytes, s.stored_bytes",
            " and s.status = 'running' for update of s",
            organization,
            word,
            step
        )
        .fetch_optional(change.connection())
        .await?;
        let Some(row) = row else { return Ok(Appended::Gone) };
        let (end, loose) = (row.log_bytes, row.log_bytes - row.stored_bytes);
        if offset > end {
            return Ok(Appended::Gap(end));
        }
        if offset + length <= end {
            return Ok(Appended::Yes { bytes: end, loose, is_new: false });
        }
        if offset + length > most {
            return Ok(Appended::TooLong);
        }
        let known = end - offset;
        let (content, object) = match piece {
            Piece::Here(bytes) => (bytes.get(usize::try_from(known).unwrap_or(usize::MAX)..), None),
            // An object is whole or not at all.
            Piece::Object(_) if known > 0 => return Ok(Appended::Gap(end)),
            Piece::Object(name) => (None, Some(name.as_str())),
        };
        let new = length - known;
        sqlx::query!(
            "insert into log_segments (organization_id, step_run_id, start, bytes, at, content, object)
             values ($1, $2, $3, $4, $5, $6, $7)",
            organization,
            step.uuid(),
            end,
            i32::try_from(new).unwrap_or(i32::MAX),
            jiff_sqlx::Timestamp::from(at) as jiff_sqlx::Timestamp,
            content,
            object,
        )
        .execute(change.connection())
        .await?;
        // What is in an object counts as stored only if all before it is: the loose part is one piece at the end.
        let stored = if object.is_some() && loose == 0 { end + new } else { row.stored_bytes };
        sqlx::query!(
            "update step_runs set log_bytes = $3, stored_bytes = $4 where organization_id = $1 and id = $2",
            organization,
            step.uuid(),
            end + new,
            stored,
        )
        .execute(change.connection())
        .await?;
        change.commit().await?;
        Ok(Appended::Yes { bytes: end + new, loose: end + new - stored, is_new: true })
    }

    /// Pieces from a byte on, in their order: the first one, and as many more as begin within `max_bytes` of its beginning.
    /// Pieces in objects count only with `objects_count`: their bytes are not read here.
    pub async fn log_segments(
        &self,
        organization: OrganizationId,
        step: StepRunId,
        (from, to): (i64, i64),
        (max_bytes, objects_count): (i64, bool),
    ) -> Result<Vec<Segment>, StoreError> {
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
            objects_count,
            MAX_SEGMENTS,
        )
        .fetch_all(&self.pool())
        .await?;
        let segment =
            |start, bytes, at: jiff_sqlx::Timestamp, content, object: Option<String>, marks| Segment {
                start,
                bytes,
                at: at.to_jiff(),
                marks,
                piece: object.map_or_else(|| Piece::Here(Option::unwrap_or_default(content)), Piece::Object),
            };
        Ok(rows
            .into_iter()
            .map(|row| segment(row.start, row.bytes, row.at, row.content, row.object, row.marks))
            .collect())
    }

    /// Puts one object in the place of the pieces that it was made of. Whether they were still there.
    pub async fn gather_log(
        &self,
        organization: OrganizationId,
        step: StepRunId,
        parts: &[Segment],
        object: &str,
    ) -> Result<bool, StoreError> {
        let Some(first) = parts.first() else { return Ok(false) };
        let mut change = self.change_by_clock(organization).await?;
        let organization = change.organization();
        sqlx::query!(
            "select 1 as one from step_runs where organization_id = $1 and id = $2 for update",
            organization,
            step.uuid()
        )
        .fetch_one(change.connection())
        .await?;
        let starts: Vec<i64> = parts.iter().map(|part| part.start).collect();
        let bytes: i64 = parts.iter().map(|part| i64::from(part.bytes)).sum();
        let gone = sqlx::query!(
            "delete from log_segments
             where organization_id = $1 and step_run_id = $2 and start = any($3) and content is not null",
            organization,
            step.uuid(),
            &starts,
        )
        .execute(change.connection())
        .await?;
        if gone.rows_affected() != starts.len() as u64 {
            // Somebody else has gathered them.
            return Ok(false);
        }
        let marks: Vec<i64> = parts.iter().flat_map(|part| [part.start, part.at.as_millisecond()]).collect();
        sqlx::query!(
            "insert into log_segments (organization_id, step_run_id, start, bytes, at, object, marks)
             values ($1, $2, $3, $4, $5, $6, $7)",
            organization,
            step.uuid(),
            first.start,
            i32::try_from(bytes).unwrap_or(i32::MAX),
            jiff_sqlx::Timestamp::from(first.at) as jiff_sqlx::Timestamp,
            object,
            &marks,
        )
        .execute(change.connection())
        .await?;
        sqlx::query!(
            "update step_runs set stored_bytes = greatest(stored_bytes, $3)
             where organization_id = $1 and id = $2 and stored_bytes = $4",
            organization,
            step.uuid(),
            first.start + bytes,
            first.start,
        )
        .execute(change.connection())
        .await?;
        change.commit().await?;
        Ok(true)
    }

    /// How long a step's log is, and whether more may come; `None` if there is no such step in the deployment.
    pub async fn log_state(
        &self,
        organization: OrganizationId,
        deployment: greenroom_domain::id::DeploymentId,
        step: StepRunId,
    ) -> Result<Option<LogState>, StoreError> {
        let row = sqlx::query!(
            r#"select s.log_bytes, s.ended_at is not null as "closed!", d.expired_at from step_runs s
               join jobs j on j.organization_id = $1 and j.id = s.job_id
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               where s.organization_id = $1 and s.id = $2 and j.deployment_id = $3"#,
            organization.uuid(),
            step.uuid(),
            deployment.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| LogState {
            bytes: row.log_bytes,
            closed: row.closed,
            expired_at: row.expired_at.map(jiff_sqlx::Timestamp::to_jiff),
        }))
    }
}
