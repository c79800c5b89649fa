//! Analyses of failures: their states, what may follow what, and feedback about them.

use std::time::Duration;

use crate::id::{AnalysisId, DeploymentId, PipelineId};
use crate::policy::Action;
use crate::text::is_hidden;
use crate::text_enum::text_enum;

/// How many analyses a failure can have.
pub const MAX_PER_FAILURE: i64 = 20;
/// How long an analysis waits for the evidence of its failure.
pub const EVIDENCE_TIMEOUT: Duration = Duration::from_secs(600);
pub const MAX_COMMENT_BYTES: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnalysisStatus {
    Queued,
    /// The evidence of the failure is being collected.
    Collecting,
    /// A model reads the evidence.
    Analyzing,
    Succeeded,
    Failed,
    /// The analysis was not permitted, for example because of a budget.
    Refused,
}

text_enum!(AnalysisStatus {
    Queued = "queued",
    Collecting = "collecting",
    Analyzing = "analyzing",
    Succeeded = "succeeded",
    Failed = "failed",
    Refused = "refused",
});

impl AnalysisStatus {
    pub const FINAL: &'static [Self] = &[Self::Succeeded, Self::Failed, Self::Refused];

    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Refused)
    }
}

/// Why an analysis has failed or was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnalysisReason {
    /// The evidence of the failure was not collected in time.
    EvidenceNotCollected,
}

text_enum!(AnalysisReason { EvidenceNotCollected = "evidence_not_collected" });

/// What an analysis reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalysisEvent {
    /// It was requested before the evidence is there.
    EvidencePending,
    /// The evidence is stored.
    EvidenceReady,
    DeadlinePassed,
}

#[cfg(test)]
impl AnalysisEvent {
    const ALL: &'static [Self] = &[Self::EvidencePending, Self::EvidenceReady, Self::DeadlinePassed];
}

/// Returns the status after an event, with the reason if it has failed; `None` if nothing changes. Without a model, an
/// analysis succeeds as soon as the evidence is there.
///
/// | | evidence pending | evidence ready | deadline passed |
/// |---|---|---|---|
/// | queued | collecting | succeeded | failed: evidence_not_collected |
/// | collecting | – | succeeded | failed: evidence_not_collected |
/// | analyzing, succeeded, failed, refused | – | – | – |
pub const fn apply(
    status: AnalysisStatus,
    event: AnalysisEvent,
) -> Option<(AnalysisStatus, Option<AnalysisReason>)> {
    use AnalysisStatus as S;
    match (status, event) {
        (S::Queued, AnalysisEvent::EvidencePending) => Some((S::Collecting, None)),
        (S::Queued | S::Collecting, AnalysisEvent::EvidenceReady) => Some((S::Succeeded, None)),
        (S::Queued | S::Collecting, AnalysisEvent::DeadlinePassed) => {
            Some((S::Failed, Some(AnalysisReason::EvidenceNotCollected)))
        }
        _ => None,
    }
}

/// Returns the right that is required to request an analysis of a deployment, and to give feedback about it: `is_own` if the
/// deployment was made in a session of the caller.
pub const fn required_right(is_own: bool) -> Action {
    if is_own { Action::AnalysisCreateOwn } else { Action::AnalysisCreate }
}

/// Returns the subject of events about an analysis.
pub fn subject(pipeline: PipelineId, deployment: DeploymentId, analysis: AnalysisId) -> String {
    format!("pipelines/{pipeline}/deployments/{deployment}/analyses/{analysis}")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidComment {
    #[error("must have {MAX_COMMENT_BYTES} bytes at most")]
    TooLong,
    #[error("must not contain control characters, nor those that change the direction of writing")]
    Control,
}

/// Returns the comment of a feedback without surrounding blanks; `None` if nothing is left. Lines are permitted.
pub fn check_comment(text: &str) -> Result<Option<&str>, InvalidComment> {
    let text = text.trim();
    if text.len() > MAX_COMMENT_BYTES {
        return Err(InvalidComment::TooLong);
    }
    if text.chars().any(|character| character != '\n' && is_hidden(character)) {
        return Err(InvalidComment::Control);
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_with_every_event() {
        use AnalysisStatus as S;
        let late = Some(AnalysisReason::EvidenceNotCollected);
        for status in S::ALL {
            let after: Vec<_> = AnalysisEvent::ALL.iter().map(|event| apply(*status, *event)).collect();
            let expected = match status {
                S::Queued => {
                    [Some((S::Collecting, None)), Some((S::Succeeded, None)), Some((S::Failed, late))]
                }
                S::Collecting => [None, Some((S::Succeeded, None)), Some((S::Failed, late))],
                S::Analyzing | S::Succeeded | S::Failed | S::Refused => [None, None, None],
            };
            assert_eq!(after, expected, "{status}");
        }
    }

    #[test]
    fn final_statuses_are_listed() {
        let ends: Vec<_> = AnalysisStatus::ALL.iter().copied().filter(|status| status.is_final()).collect();
        assert_eq!(ends, AnalysisStatus::FINAL);
    }

    #[test]
    fn a_comment_is_limited_in_bytes() {
        assert_eq!(check_comment(" first\nsecond "), Ok(Some("first\nsecond")));
        assert_eq!(check_comment(" \n "), Ok(None));
        let longest = "ä".repeat(MAX_COMMENT_BYTES / 2);
        assert_eq!(check_comment(&longest), Ok(Some(longest.as_str())));
        assert_eq!(check_comment(&format!("{longest}a")), Err(InvalidComment::TooLong));
        for text in ["a\u{0}b", "a\u{1b}[31mb", "a\u{202e}b", "a\tb"] {
            assert_eq!(check_comment(text), Err(InvalidComment::Control), "{text:?}");
        }
        assert_eq!(check_comment("<img src=x onerror=alert(1)>"), Ok(Some("<img src=x onerror=alert(1)>")));
    }
}
