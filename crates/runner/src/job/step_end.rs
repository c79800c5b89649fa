//! Decides status and reason of an ended step. Pure: it only computes the report for the server.

use std::collections::BTreeMap;

use greenroom_api_types::runner::{StepEnd, StepEndStatus};

use crate::backend::{EXIT_ENTRYPOINT_ERROR, EXIT_SILENCE, Ended};
use crate::log::LogEnd;

/// Everything about a step that does not run any more.
#[derive(Debug)]
pub(super) struct FinishedStep {
    /// `None` if the step did not start, or if its end is unknown.
    pub(super) ended: Option<Ended>,
    pub(super) interruption: Option<Interruption>,
    pub(super) log: LogEnd,
}

/// Why the runner ended a step. Each variant has the reason for the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Interruption {
    Canceled(String),
    TimedOut(String),
    PlatformError(String),
    /// The step was not started, because a secret can't be used as the definition demands.
    InvalidSecret(String),
    /// The step was not started, because it has a variable that a step of a registry must not have.
    ForbiddenVariable(String),
}

impl FinishedStep {
    pub(super) fn not_started(interruption: Interruption) -> Self {
        FinishedStep { ended: None, interruption: Some(interruption), log: LogEnd::Complete(0) }
    }
}

/// Returns the report of a step. `outputs` is only called if the step has succeeded.
pub(super) fn step_end(
    end: FinishedStep,
    outputs: impl FnOnce() -> Result<BTreeMap<String, String>, String>,
) -> StepEnd {
    use StepEndStatus::{Canceled, Errored, Failed, Succeeded};

    let exit_code = end.ended.as_ref().map(|ended| ended.exit_code);
    let (log_bytes, log_failure) = match end.log {
        LogEnd::Complete(bytes) => (bytes, None),
        LogEnd::Full(bytes) => {
            let reason =
                format!("the step wrote more to its log than it may; the first {bytes} bytes were kept");
            (bytes, Some((Failed, reason)))
        }
        LogEnd::Lost(bytes, reason) => (bytes, Some((Errored, reason))),
    };
    let mut accepted_outputs = BTreeMap::new();
    let (status, reason) = match (end.interruption, log_failure, end.ended) {
        (Some(Interruption::Canceled(reason)), ..) => (Canceled, Some(reason)),
        (Some(Interruption::PlatformError(reason)), ..) => (Errored, Some(reason)),
        (_, Some((status, reason)), _) => (status, Some(reason)),
        (
            Some(
                Interruption::TimedOut(reason)
                | Interruption::InvalidSecret(reason)
                | Interruption::ForbiddenVariable(reason),
            ),
            ..,
        ) => (Failed, Some(reason)),
        (None, None, None) => (Errored, Some("it is unknown how the step ended".to_owned())),
        (None, None, Some(Ended { exit_code: 0, .. })) => match outputs() {
            Ok(outputs) => {
                accepted_outputs = outputs;
                (Succeeded, None)
            }
            // The step wrote invalid outputs: a retry would not help.
            Err(reason) => (Failed, Some(reason)),
        },
        (None, None, Some(Ended { exit_code: EXIT_SILENCE, .. })) => {
            (Errored, Some("the step was ended because its runner had fallen silent".to_owned()))
        }
        (None, None, Some(Ended { exit_code: EXIT_ENTRYPOINT_ERROR, .. })) => {
            (Errored, Some("the step could not be run; see its log".to_owned()))
        }
        (None, None, Some(Ended { exit_code, remark })) => {
            (Failed, Some(remark.unwrap_or_else(|| describe(exit_code))))
        }
    };
    StepEnd { status, exit_code, reason, outputs: accepted_outputs, log_bytes }
}

fn describe(exit_code: i32) -> String {
    match exit_code {
        129..=192 => format!("ended by signal {}", exit_code - 128),
        _ => format!("exit code {exit_code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended_with(exit_code: i32) -> FinishedStep {
        let ended = Some(Ended { exit_code, remark: None });
        FinishedStep { ended, interruption: None, log: LogEnd::Complete(7) }
    }

    fn status_and_reason(end: FinishedStep) -> (StepEndStatus, Option<String>) {
        let end = step_end(end, || Ok(BTreeMap::new()));
        (end.status, end.reason)
    }

    fn failed(reason: &str) -> (StepEndStatus, Option<String>) {
        (StepEndStatus::Failed, Some(reason.to_owned()))
    }

    #[test]
    fn the_exit_code_decides_without_an_interruption() {
        assert_eq!(status_and_reason(ended_with(0)), (StepEndStatus::Succeeded, None));
        assert_eq!(status_and_reason(ended_with(3)), failed("exit code 3"));
        assert_eq!(status_and_reason(ended_with(137)), failed("ended by signal 9"));
        assert_eq!(status_and_reason(ended_with(250)).0, StepEndStatus::Errored);
        assert_eq!(status_and_reason(ended_with(251)).0, StepEndStatus::Errored);
    }

    #[test]
    fn only_a_successful_step_has_outputs() {
        let outputs = || Ok(BTreeMap::from([("a".to_owned(), "b".to_owned())]));
        assert_eq!(step_end(ended_with(0), outputs).outputs.len(), 1);
        assert_eq!(step_end(ended_with(1), outputs).outputs.len(), 0);
        assert_eq!(step_end(ended_with(0), || Err("odd".to_owned())).status, StepEndStatus::Failed);
    }

    #[test]
    fn a_canceled_step_is_canceled_with_any_exit_code() {
        for code in [0, 1, 143] {
            let canceled = Some(Interruption::Canceled("not needed".to_owned()));
            let (status, reason) =
                status_and_reason(FinishedStep { interruption: canceled, ..ended_with(code) });
            assert_eq!((status, reason.as_deref()), (StepEndStatus::Canceled, Some("not needed")), "{code}");
        }
    }

    #[test]
    fn a_step_that_was_killed_for_too_much_log_has_failed() {
        let full = FinishedStep { log: LogEnd::Full(100), ..ended_with(137) };
        assert_eq!(
            status_and_reason(full),
            failed("the step wrote more to its log than it may; the first 100 bytes were kept")
        );
    }

    #[test]
    fn a_step_whose_log_was_lost_has_errored() {
        let lost = FinishedStep { log: LogEnd::Lost(3, "gone".to_owned()), ..ended_with(0) };
        let report = step_end(lost, || Ok(BTreeMap::new()));
        assert_eq!((report.status, report.log_bytes), (StepEndStatus::Errored, 3));
    }

    #[test]
    fn a_remark_of_the_backend_is_reported() {
        let remark = Some("the memory limit was reached".to_owned());
        let ended = Some(Ended { exit_code: 137, remark });
        assert_eq!(
            status_and_reason(FinishedStep { ended, ..ended_with(0) }),
            failed("the memory limit was reached")
        );
    }
}
