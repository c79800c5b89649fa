//! Positions of a log's lines. See `greenroom_domain::log_lines` for what is kept.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, StepRunId};
use greenroom_domain::log_lines::{BLOCK_BYTES, first_block};
use jiff::Timestamp;

use crate::error::{from_column, to_column};
use crate::{Store, StoreError};

/// The beginning of a block of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBlock {
    /// The number of newlines before it.
    pub newlines: u64,
    /// When its first byte was written.
    pub at: Timestamp,
}

/// A position in a log, and the number of newlines before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    pub offset: u64,
    pub newlines: u64,
}

#[boxed_futures]
impl Store {
    /// Returns all blocks of a log, in order. There are fewer than the log has if a server of an earlier
    /// version has stored or moved some of its bytes.
    pub async fn log_blocks(
        &self,
        organization: OrganizationId,
        step: StepRunId,
    ) -> Result<Vec<LogBlock>, StoreError> {
        let segments = sqlx::query_scalar!(
            "select blocks from log_segments
             where organization_id = $1 and step_run_id = $2 and blocks <> '{}' order by start",
            organization.uuid(),
            step.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        segments.iter().flat_map(|blocks| pairs(blocks)).map(read_block).collect()
    }

    /// Returns the last known position that has fewer newlines before it than `newlines`, which is at least
    /// 1. The newline with that number is less than a block after it.
    pub async fn log_position_by_newlines(
        &self,
        organization: OrganizationId,
        step: StepRunId,
        newlines: u64,
    ) -> Result<LogPosition, StoreError> {
        let limit: i64 = to_column("log_segments.newlines_before", newlines)?;
        let segment = sqlx::query!(
            r#"select start, newlines_before as "newlines_before!", blocks from log_segments
               where organization_id = $1 and step_run_id = $2 and newlines_before < $3
               order by start desc limit 1"#,
            organization.uuid(),
            step.uuid(),
            limit,
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(segment) = segment else { return Ok(LogPosition::default()) };
        let positions = positions(segment.start, segment.newlines_before, &segment.blocks)?;
        let last = positions.into_iter().take_while(|position| position.newlines < newlines).last();
        Ok(last.unwrap_or_default())
    }

    /// Returns the last known position at or before a byte. It is less than a block before it.
    pub async fn log_position_by_offset(
        &self,
        organization: OrganizationId,
        step: StepRunId,
        offset: u64,
    ) -> Result<LogPosition, StoreError> {
        let limit: i64 = to_column("log_segments.start", offset)?;
        let segment = sqlx::query!(
            r#"select start, newlines_before as "newlines_before!", blocks from log_segments
               where organization_id = $1 and step_run_id = $2 and start <= $3 and newlines_before is not null
               order by start desc limit 1"#,
            organization.uuid(),
            step.uuid(),
            limit,
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(segment) = segment else { return Ok(LogPosition::default()) };
        let positions = positions(segment.start, segment.newlines_before, &segment.blocks)?;
        let last = positions.into_iter().take_while(|position| position.offset <= offset).last();
        Ok(last.unwrap_or_default())
    }
}

/// Returns the known positions in a segment: its first byte, and the beginnings of its blocks.
fn positions(start: i64, newlines_before: i64, blocks: &[i64]) -> Result<Vec<LogPosition>, StoreError> {
    let start: u64 = from_column("log_segments.start", start)?;
    let newlines = from_column("log_segments.newlines_before", newlines_before)?;
    let mut positions = vec![LogPosition { offset: start, newlines }];
    let mut offset = first_block(start);
    for pair in pairs(blocks) {
        positions.push(LogPosition { offset, newlines: read_block(pair)?.newlines });
        offset += BLOCK_BYTES;
    }
    Ok(positions)
}

/// Returns the entries of `log_segments.blocks`: pairs of newlines and milliseconds.
fn pairs(blocks: &[i64]) -> impl Iterator<Item = [i64; 2]> + '_ {
    blocks.chunks_exact(2).filter_map(|pair| pair.try_into().ok())
}

fn read_block([newlines, milliseconds]: [i64; 2]) -> Result<LogBlock, StoreError> {
    let at = Timestamp::from_millisecond(milliseconds).map_err(|_| StoreError::Unreadable {
        column: "log_segments.blocks",
        value: milliseconds.to_string(),
    })?;
    Ok(LogBlock { newlines: from_column("log_segments.blocks", newlines)?, at })
}
