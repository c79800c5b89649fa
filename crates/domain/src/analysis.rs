//! Analyses of failures: their states, what may follow what, and feedback about them.

use std::time::Duration;

use crate::id::{AnalysisId, DeploymentId, PipelineId};
use crate::policy::Action;
use crate::text::{InvalidText, Lines, TextClass};
use crate::text_enum::text_enum;

/// How many analyses a failure can have.
pub const MAX_PER_FAILURE: i64 = 20;
/// How long an analysis waits for the evidence of its failure.
pub const EVIDENCE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long an analysis waits for its model, which a worker may have to call a second time.
pub const MODEL_TIMEOUT: Duration = Duration::from_secs(600);
/// How often a model is called for one analysis: once, and once more if the worker that has called it died.
pub const MAX_MODEL_CALLS: usize = 2;
/// For how long an explanation is used again for a failure with the same fingerprint and the same changes.
pub const REUSE_TIME: Duration = Duration::from_secs(7 * 24 * 3_600);
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
    /// The organization's model could not be called, or has returned nothing that can be used.
    ModelFailed,
    /// Another call of the model would exceed a limit of the organization.
    BudgetExhausted,
}

text_enum!(AnalysisReason {
    EvidenceNotCollected = "evidence_not_collected",
    ModelFailed = "model_failed",
    BudgetExhausted = "budget_exhausted",
});

impl AnalysisReason {
    /// Returns whether the evidence was there, so that the analysis shows what it has found.
    pub const fn has_evidence(self) -> bool {
        matches!(self, Self::ModelFailed | Self::BudgetExhausted)
    }
}

/// What an analysis reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalysisEvent {
    /// It was requested before the evidence is there.
    EvidencePending,
    /// The evidence is stored.
    EvidenceReady {
        /// The organization has a model, and the analysis uses it.
        has_model: bool,
    },
    /// The model has explained the failure.
    Explained,
    /// The model was disabled in the meantime.
    ModelDisabled,
    ModelFailed,
    BudgetExhausted,
    DeadlinePassed,
}

#[cfg(test)]
impl AnalysisEvent {
    const ALL: &'static [Self] = &[
        Self::EvidencePending,
        Self::EvidenceReady { has_model: false },
        Self::EvidenceReady { has_model: true },
        Self::Explained,
        Self::ModelDisabled,
        Self::ModelFailed,
        Self::BudgetExhausted,
        Self::DeadlinePassed,
    ];
}

/// Returns the status after an event, with the reason if it has failed; `None` if nothing changes. Without a model, an
/// analysis succeeds as soon as the evidence is there.
///
/// | | evidence pending | evidence ready | explained, model disabled | model failed | budget exhausted | deadline passed |
/// |---|---|---|---|---|---|---|
/// | queued | collecting | analyzing with a model, succeeded without | – | – | – | failed: evidence_not_collected |
/// | collecting | – | as queued | – | – | – | failed: evidence_not_collected |
/// | analyzing | – | – | succeeded | failed: model_failed | refused: budget_exhausted | failed: model_failed |
/// | succeeded, failed, refused | – | – | – | – | – | – |
pub const fn apply(
    status: AnalysisStatus,
    event: AnalysisEvent,
) -> Option<(AnalysisStatus, Option<AnalysisReason>)> {
    use {AnalysisEvent as E, AnalysisStatus as S};
    match (status, event) {
        (S::Queued, E::EvidencePending) => Some((S::Collecting, None)),
        (S::Queued | S::Collecting, E::EvidenceReady { has_model: true }) => Some((S::Analyzing, None)),
        (S::Queued | S::Collecting, E::EvidenceReady { has_model: false })
        | (S::Analyzing, E::Explained | E::ModelDisabled) => Some((S::Succeeded, None)),
        (S::Queued | S::Collecting, E::DeadlinePassed) => {
            Some((S::Failed, Some(AnalysisReason::EvidenceNotCollected)))
        }
        (S::Analyzing, E::ModelFailed | E::DeadlinePassed) => {
            Some((S::Failed, Some(AnalysisReason::ModelFailed)))
        }
        (S::Analyzing, E::BudgetExhausted) => Some((S::Refused, Some(AnalysisReason::BudgetExhausted))),
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
    #[error(transparent)]
    Text(#[from] InvalidText),
}

/// Returns the comment of a feedback without surrounding blanks; `None` if nothing is left. Lines are permitted.
pub fn check_comment(text: &str) -> Result<Option<&str>, InvalidComment> {
    let text = text.trim();
    if text.len() > MAX_COMMENT_BYTES {
        return Err(InvalidComment::TooLong);
    }
    match text.chars().find(|character| Lines::rejects(*character)) {
        Some(rejected) => Err(InvalidText::Character(rejected).into()),
        None => Ok(Some(text).filter(|text| !text.is_empty())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_with_every_event() {
        use AnalysisStatus as S;
        let late = Some((S::Failed, Some(AnalysisReason::EvidenceNotCollected)));
        let not_explained = Some((S::Failed, Some(AnalysisReason::ModelFailed)));
        let refused = Some((S::Refused, Some(AnalysisReason::BudgetExhausted)));
        let (succeeded, analyzing) = (Some((S::Succeeded, None)), Some((S::Analyzing, None)));
        for status in S::ALL {
            let after: Vec<_> = AnalysisEvent::ALL.iter().map(|event| apply(*status, *event)).collect();
            let expected = match status {
                S::Queued => {
                    [Some((S::Collecting, None)), succeeded, analyzing, None, None, None, None, late]
                }
                S::Collecting => [None, succeeded, analyzing, None, None, None, None, late],
                S::Analyzing => {
                    [None, None, None, succeeded, succeeded, not_explained, refused, not_explained]
                }
                S::Succeeded | S::Failed | S::Refused => [None; 8],
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
            assert!(matches!(check_comment(text), Err(InvalidComment::Text(_))), "{text:?}");
        }
        assert_eq!(check_comment("<img src=x onerror=alert(1)>"), Ok(Some("<img src=x onerror=alert(1)>")));
    }
}
