//! A step that is compared with good runs: one that has failed, or one that is running.

use greenroom_domain::id::{PipelineId, StepRunId};
use jiff::Timestamp;

/// A step that is compared with good runs.
#[derive(Clone, Copy, Debug)]
pub struct ComparedStep<'a> {
    pub step: StepRunId,
    pub pipeline_id: PipelineId,
    pub stage_key: &'a str,
    /// The name of the environment; empty without one.
    pub place: &'a str,
    pub template: Option<&'a str>,
    /// Only runs that had ended by then.
    pub before: Timestamp,
}
