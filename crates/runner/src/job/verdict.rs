//! How a step ended, from all that is known of it. Pure: what is decided here is only what to say.

use std::collections::BTreeMap;

use greenroom_api_types::runner::{StepEnd, StepEndStatus};

use crate::backend::{EXIT_SILENCE, EXIT_TROUBLE, Ended};
use crate::log::LogEnd;

/// What is known of a step that does not run any more.
#[derive(Debug)]
pub(super) struct End {
    /// None if it did not start, or nobody knows.
    pub(super) ended: Option<Ended>,
    pub(super) interruption: Option<Interruption>,
    pub(super) log: LogEnd,
}

/// Why a step was not left to itself. Each with what to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Interruption {
    Canceled(String),
    TooLong(String),
    Trouble(String),
}

impl End {
    pub(super) fn not_started(interruption: Interruption) -> Self {
        End { ended: None, interruption: Some(interruption), log: LogEnd::Complete(0) }
    }
}

/// `outputs` is asked only if the step succeeded by itself.
pub(super) fn verdict(
    end: End,
    outputs: impl FnOnce() -> Result<BTreeMap<String, String>, String>,
) -> StepEnd {
    use StepEndStatus::{Canceled, Errored, Failed, Succeeded};

    let exit_code = end.ended.as_ref().map(|ended| ended.exit_code);
    let (log_bytes, log_trouble) = match end.log {
        LogEnd::Complete(bytes) => (bytes, None),
        LogEnd::Full(bytes) => {
            let reason =
                format!("the step wrote more to its log than it may; the first {bytes} bytes were kept");
            (bytes, Some((Failed, reason)))
        }
        LogEnd::Lost(bytes, reason) => (bytes, Some((Errored, reason))),
    };
    let mut said = BTreeMap::new();
    let (status, reason) = match (end.interruption, log_trouble, end.ended) {
        (Some(Interruption::Canceled(reason)), ..) => (Canceled, Some(reason)),
        (Some(Interruption::Trouble(reason)), ..) => (Errored, Some(reason)),
        (_, Some((status, reason)), _) => (status, Some(reason)),
        (Some(Interruption::TooLong(reason)), ..) => (Failed, Some(reason)),
        (None, None, None) => (Errored, Some("nobody knows how the step ended".to_owned())),
        (None, None, Some(Ended { exit_code: 0, .. })) => match outputs() {
            Ok(outputs) => {
                said = outputs;
                (Succeeded, None)
            }
            // The step wrote them: a retry of it would not help.
            Err(reason) => (Failed, Some(reason)),
        },
        (None, None, Some(Ended { exit_code: EXIT_SILENCE, .. })) => {
            (Errored, Some("the step was ended because its runner had fallen silent".to_owned()))
        }
        (None, None, Some(Ended { exit_code: EXIT_TROUBLE, .. })) => {
            (Errored, Some("the step could not be run; its log says why".to_owned()))
        }
        (None, None, Some(Ended { exit_code, remark })) => {
            (Failed, Some(remark.unwrap_or_else(|| words(exit_code))))
        }
    };
    StepEnd { status, exit_code, reason, outputs: said, log_bytes }
}

fn words(exit_code: i32) -> String {
    match exit_code {
        129..=192 => format!("ended by signal {}", exit_code - 128),
        _ => format!("exit code {exit_code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(exit_code: i32) -> End {
        let ended = Some(Ended { exit_code, remark: None });
        End { ended, interruption: None, log: LogEnd::Complete(7) }
    }

    fn judged(end: End) -> (StepEndStatus, Option<String>) {
        let end = verdict(end, || Ok(BTreeMap::new()));
        (end.status, end.reason)
    }

    fn failed(reason: &str) -> (StepEndStatus, Option<String>) {
        (StepEndStatus::Failed, Some(reason.to_owned()))
    }

    #[test]
    fn the_exit_code_decides_if_nothing_else_happened() {
        assert_eq!(judged(end(0)), (StepEndStatus::Succeeded, None));
        assert_eq!(judged(end(3)), failed("exit code 3"));
        assert_eq!(judged(end(137)), failed("ended by signal 9"));
        assert_eq!(judged(end(250)).0, StepEndStatus::Errored);
        assert_eq!(judged(end(251)).0, StepEndStatus::Errored);
    }

    #[test]
    fn outputs_count_only_for_a_step_that_succeeded() {
        let outputs = || Ok(BTreeMap::from([("a".to_owned(), "b".to_owned())]));
        assert_eq!(verdict(end(0), outputs).outputs.len(), 1);
        assert_eq!(verdict(end(1), outputs).outputs.len(), 0);
        assert_eq!(verdict(end(0), || Err("odd".to_owned())).status, StepEndStatus::Failed);
    }

    #[test]
    fn a_canceled_step_is_canceled_however_it_ended() {
        for code in [0, 1, 143] {
            let canceled = Some(Interruption::Canceled("not needed".to_owned()));
            let (status, reason) = judged(End { interruption: canceled, ..end(code) });
            assert_eq!((status, reason.as_deref()), (StepEndStatus::Canceled, Some("not needed")), "{code}");
        }
    }

    #[test]
    fn too_much_log_fails_a_step_that_was_killed_for_it() {
        let full = End { log: LogEnd::Full(100), ..end(137) };
        assert_eq!(
            judged(full),
            failed("the step wrote more to its log than it may; the first 100 bytes were kept")
        );
    }

    #[test]
    fn a_step_without_its_log_has_errored() {
        let lost = End { log: LogEnd::Lost(3, "gone".to_owned()), ..end(0) };
        let said = verdict(lost, || Ok(BTreeMap::new()));
        assert_eq!((said.status, said.log_bytes), (StepEndStatus::Errored, 3));
    }

    #[test]
    fn what_the_backend_knows_is_said() {
        let remark = Some("the memory limit was reached".to_owned());
        let ended = Some(Ended { exit_code: 137, remark });
        assert_eq!(judged(End { ended, ..end(0) }), failed("the memory limit was reached"));
    }
}
