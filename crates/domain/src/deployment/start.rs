//! Whether a deployment may start, and whether its stages may: the part of the input of
//! [`advance`](super::advance) that depends on the pipeline and on the work slot (`work_slot`), which at most
//! one deployment of an environment has. The pipeline's `concurrency` is decided in `concurrency`.

use super::plan::Purpose;
use crate::pipeline::{PipelineStatus, StopMode};

/// Returns whether a queued deployment may start, if the pipeline's limit admits it. A teardown runs in every
/// status of the pipeline, because other sessions wait for it.
///
/// | Work slot  | Pipeline | Teardown | Any other |
/// |------------|----------|----------|-----------|
/// | not held   | any      | no       | no        |
/// | held       | `active` | yes      | yes       |
/// | held       | others   | yes      | no        |
///
/// A deployment without an environment needs no work slot; then `has_slot` is true.
pub fn may_start(purpose: Purpose, has_slot: bool, pipeline: PipelineStatus) -> bool {
    has_slot && (purpose == Purpose::Teardown || pipeline == PipelineStatus::Active)
}

/// Returns whether no further stage of the deployment may start, because its pipeline was stopped with `pause`.
pub fn is_held(purpose: Purpose, stop_mode: Option<StopMode>) -> bool {
    purpose != Purpose::Teardown && stop_mode == Some(StopMode::Pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_teardowns_start_and_continue_in_a_stopped_pipeline() {
        use PipelineStatus::{Active, Archived, Stopped};
        for purpose in Purpose::ALL {
            let is_teardown = *purpose == Purpose::Teardown;
            for pipeline in [Active, Stopped, Archived] {
                assert!(!may_start(*purpose, false, pipeline), "{purpose:?} {pipeline:?}");
                let expected = is_teardown || pipeline == Active;
                assert_eq!(may_start(*purpose, true, pipeline), expected, "{purpose:?} {pipeline:?}");
            }
            assert!(!is_held(*purpose, None));
            for mode in StopMode::ALL {
                let expected = !is_teardown && *mode == StopMode::Pause;
                assert_eq!(is_held(*purpose, Some(*mode)), expected, "{purpose:?} {mode:?}");
            }
        }
    }
}
