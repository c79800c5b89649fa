//! Reading logs by byte range, from PostgreSQL and the object store.

use std::ops::Range;

use bytes::Bytes;
use greenroom_domain::id::{OrganizationId, StepRunId};
use greenroom_store::log::{SegmentContent, SegmentLimit};
use greenroom_store::{Store, StoreError};
use jiff::Timestamp;

use crate::objects::{Objects, ObjectsError};

/// How much a download reads in one call, which is also what it has in memory.
pub const READ_BYTES: u64 = 256 * 1024;

/// A part of a log, as it was read.
#[derive(Clone, Debug)]
pub struct LogPart {
    pub start: u64,
    pub at: Timestamp,
    pub bytes: Bytes,
}

impl LogPart {
    /// Returns the offset after its last byte.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LogReadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Objects(#[from] ObjectsError),
}

#[derive(Clone, Copy, Debug)]
pub struct LogReader<'a> {
    pub store: &'a Store,
    pub objects: &'a Objects,
}

impl LogReader<'_> {
    /// Returns the next parts of a byte range, `max_bytes` at most in total. Empty at the end of the range.
    pub async fn read_parts(
        self,
        organization: OrganizationId,
        step: StepRunId,
        Range { start: from, end: to }: Range<u64>,
        max_bytes: u64,
    ) -> Result<Vec<LogPart>, LogReadError> {
        if from >= to {
            return Ok(Vec::new());
        }
        let limit = SegmentLimit { max_bytes, objects_count: true };
        let segments = self.store.log_segments(organization, step, from..to, limit).await?;
        let mut parts = Vec::with_capacity(segments.len());
        let mut at = from;
        for segment in segments {
            let (start, length) = (segment.start, u64::from(segment.bytes));
            let (begin, end) = (at.max(start), to.min(start + length).min(from.saturating_add(max_bytes)));
            // The segment has nothing to read, or there is a gap. The next call continues after the bytes that
            // were read.
            if begin >= end || begin != at {
                continue;
            }
            let (skip, until) = (begin - start, end - start);
            let bytes = match segment.content {
                SegmentContent::Inline(bytes) => {
                    // Both are at most the segment's length, which is a `u32`.
                    Bytes::copy_from_slice(bytes.get(skip as usize..until as usize).unwrap_or_default())
                }
                SegmentContent::Object(name) => self.objects.get(&name, skip..until).await?,
            };
            at = end;
            parts.push(LogPart { start: begin, at: segment.at, bytes });
        }
        Ok(parts)
    }
}
