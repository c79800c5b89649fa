//! Reads the log of a step, compared with those of good runs.

use greenroom_analysis::reduce::{Budget, Reduction};
use greenroom_domain::failure::{DecisiveLine, Evidence, EvidenceItem, LogSummary};
use greenroom_domain::id::{OrganizationId, StepRunId};
use greenroom_store::failure::ComparedStep;
use greenroom_store::with_db_timeout;

use super::baseline::templates;
use super::log::{Extent, StepLog};
use crate::log_reader::{LogReadError, LogReader};

/// The log of a step that is compared with good runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComparedLog<'a> {
    pub(super) organization: OrganizationId,
    pub(super) compared: ComparedStep<'a>,
    pub(super) bytes: u64,
    pub(super) extent: Extent,
}

impl ComparedLog<'_> {
    pub(super) async fn read(self, reader: LogReader<'_>) -> Result<Evidence, LogReadError> {
        let Self { organization, compared, bytes, extent } = self;
        let (mut baselines, mut sets) = (Vec::new(), Vec::new());
        for baseline in with_db_timeout(reader.store.baselines(organization, compared)).await? {
            if let Some(set) = templates(reader, organization, baseline, extent).await? {
                baselines.push(baseline.step);
                sets.push(set);
            }
        }
        let log =
            StepLog { organization, step: compared.step, bytes, max_read_bytes: extent.max_read_bytes() };
        let reduction = log.reduce(reader, &sets).await?.finish(Budget::STORED);
        let now = (extent == Extent::Running).then_some(compared.before);
        let silence = with_db_timeout(reader.store.longest_silence(organization, compared.step, now)).await?;
        Ok(evidence_of(reduction, baselines, silence.as_secs()))
    }
}

fn evidence_of(reduction: Reduction, baselines: Vec<StepRunId>, silent_seconds: u64) -> Evidence {
    let items = reduction.items.into_iter().map(|item| EvidenceItem {
        from_line: item.from_line,
        to_line: item.to_line,
        from_byte: item.from_byte,
        to_byte: item.to_byte,
        is_new: item.is_new,
        repeats: item.repeats,
        text: storable(&item.text),
    });
    let decisive = reduction.decisive.map(|decisive| DecisiveLine {
        item: decisive.item,
        line: decisive.line,
        text: storable(&decisive.text),
    });
    let log = LogSummary {
        lines: reduction.size.lines,
        bytes: reduction.size.bytes,
        new_lines: reduction.size.new_lines,
        silent_seconds,
        baselines,
        omitted_lines: reduction.omitted_lines,
        skipped_bytes: reduction.size.skipped_bytes,
    };
    Evidence { items: items.collect(), decisive, log: Some(log), commits: None }
}

/// Replaces what PostgreSQL can't store.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
