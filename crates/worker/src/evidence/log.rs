//! Reads a step's log into a reducer.

use greenroom_analysis::reduce::{Reducer, TemplateSet};
use greenroom_domain::id::{OrganizationId, StepRunId};
use memchr::memchr_iter;

use crate::log_reader::{LogReadError, LogReader};

const MIB: u64 = 1024 * 1024;
/// How much is read in one call.
const PIECE_BYTES: u64 = MIB;

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// For evidence that is stored: read once.
    Failed,
    /// For a request that waits for it, and can be repeated.
    Running,
}

impl Extent {
    pub(super) const fn max_read_bytes(self) -> u64 {
        match self {
            Self::Failed => 256 * MIB,
            Self::Running => 16 * MIB,
        }
    }
}

/// The log of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepLog {
    pub(super) organization: OrganizationId,
    pub(super) step: StepRunId,
    pub(super) bytes: u64,
    /// Of a log that is longer than this, only its beginning and its end are read, half of this each.
    pub(super) max_read_bytes: u64,
}

impl StepLog {
    /// Reads the log, compared with the templates of good runs.
    pub(super) async fn reduce(
        self,
        reader: LogReader<'_>,
        baselines: &[TemplateSet],
    ) -> Result<Reducer, LogReadError> {
        let mut reducer = Reducer::new(baselines);
        if self.bytes <= self.max_read_bytes {
            self.read(reader, &mut reducer, 0, self.bytes).await?;
            return Ok(reducer);
        }
        let half = self.max_read_bytes / 2;
        let newlines = self.read(reader, &mut reducer, 0, half).await?;
        let end = self.bytes - half;
        let resume = reader.store.log_position_by_offset(self.organization, self.step, end).await?;
        let from = resume.offset.max(half);
        reducer.skip(from - half, resume.newlines.saturating_sub(newlines));
        self.read(reader, &mut reducer, from, self.bytes).await?;
        Ok(reducer)
    }

    /// Reads a range. Returns the number of its newlines.
    async fn read(
        self,
        reader: LogReader<'_>,
        reducer: &mut Reducer,
        from: u64,
        to: u64,
    ) -> Result<u64, LogReadError> {
        let (mut at, mut newlines) = (from, 0);
        loop {
            let parts = reader.read_parts(self.organization, self.step, at..to, PIECE_BYTES).await?;
            let Some(last) = parts.last() else { return Ok(newlines) };
            at = last.end();
            for part in &parts {
                newlines += memchr_iter(b'\n', &part.bytes).count() as u64;
                reducer.push(&part.bytes);
            }
            // Other tasks of this thread get their turn between two pieces.
            tokio::task::yield_now().await;
        }
    }
}
