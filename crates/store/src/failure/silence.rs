//! The longest time in which a step wrote nothing.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, StepRunId};
use jiff::Timestamp;

use crate::{Store, StoreError};

/// A log in more pieces than this is not silent for long.
const MAX_SEGMENTS: i64 = 10_000;

#[boxed_futures]
impl Store {
    /// Returns the longest time between two pieces of a step's log, or between its last piece and the step's end; that of
    /// a running step up to `now`.
    pub async fn longest_silence(
        &self,
        organization: OrganizationId,
        step: StepRunId,
        now: Option<Timestamp>,
    ) -> Result<Duration, StoreError> {
        let step_run = sqlx::query!(
            "select started_at, ended_at from step_runs where organization_id = $1 and id = $2",
            organization.uuid(),
            step.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        let segments = sqlx::query!(
            "select at, marks from log_segments where organization_id = $1 and step_run_id = $2 order by start limit $3",
            organization.uuid(),
            step.uuid(),
            MAX_SEGMENTS,
        )
        .fetch_all(&self.pool())
        .await?;
        let milliseconds = |at: jiff_sqlx::Timestamp| at.to_jiff().as_millisecond();
        let mut times: Vec<i64> = Vec::new();
        for segment in segments {
            times.push(milliseconds(segment.at));
            // A compacted segment has pairs of offset and time.
            times.extend(segment.marks.chunks_exact(2).filter_map(|mark| mark.get(1)));
        }
        if let Some(step) = step_run {
            let start = step.started_at.map(milliseconds);
            let end = step.ended_at.map(milliseconds).or(now.map(Timestamp::as_millisecond));
            // The runner's clock, which may be wrong, has written the times of the pieces.
            for time in &mut times {
                *time = (*time).max(start.unwrap_or(*time)).min(end.unwrap_or(*time));
            }
            times.extend(start.into_iter().chain(end));
        }
        times.sort_unstable();
        let gaps = times.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?));
        Ok(Duration::from_millis(gaps.max().unwrap_or_default().unsigned_abs()))
    }
}
