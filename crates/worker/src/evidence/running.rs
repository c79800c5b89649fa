//! What the log of a running step shows so far. Nothing is stored but the templates of good runs.

use greenroom_domain::failure::Evidence;
use greenroom_domain::id::OrganizationId;
use greenroom_store::failure::RunningStep;
use greenroom_store::with_db_timeout;
use jiff::Timestamp;

use super::log::Extent;
use super::read::ComparedLog;
use crate::log_reader::{LogReadError, LogReader};

/// How much of the log of a running step is read.
pub const MAX_RUNNING_BYTES: u64 = Extent::Running.max_read_bytes();

/// What the log of a running step shows so far.
#[derive(Clone, Debug)]
pub struct RunningEvidence {
    pub evidence: Evidence,
    /// About when the decisive line was written.
    pub decisive_at: Option<Timestamp>,
}

/// Reads the log of a running step, compared with those of good runs.
pub async fn read_running(
    reader: LogReader<'_>,
    organization: OrganizationId,
    running: &RunningStep,
) -> Result<RunningEvidence, LogReadError> {
    let log = ComparedLog {
        organization,
        compared: running.compared(),
        bytes: running.log_bytes,
        extent: Extent::Running,
    };
    let evidence = log.read(reader).await?;
    let decisive = evidence.decisive.as_ref().and_then(|decisive| evidence.items.get(decisive.item));
    let decisive_at = match decisive {
        Some(item) => {
            let at = with_db_timeout(reader.store.log_time(organization, running.id, item.from_byte)).await?;
            // The runner's clock may be wrong.
            at.map(|at| at.max(running.started_at).min(running.now))
        }
        None => None,
    };
    Ok(RunningEvidence { evidence, decisive_at })
}
