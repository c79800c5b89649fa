use super::DeploymentOutcome::{
    Canceled, Collecting, Errored, NotEnded, OtherFailure, SameFailure, Succeeded,
};
use super::{DeploymentOutcome, FixProgress, FixReason, FixStatus, Next, Observed};
use crate::deployment::{DeploymentStatus, Reason};

fn next(status: FixStatus, (runs, succeeded_runs): (u8, u8), outcome: DeploymentOutcome) -> Next {
    let progress = FixProgress { status, runs, succeeded_runs };
    progress.next(Observed { is_session_held: true, outcome })
}

#[test]
fn the_failure_has_to_be_seen_again_before_the_fix_is_deployed() {
    let next = |outcome| next(FixStatus::Reproducing, (1, 0), outcome);
    assert_eq!(next(NotEnded), Next::Wait);
    assert_eq!(next(Collecting), Next::Wait);
    assert_eq!(next(SameFailure), Next::DeployFix);
    assert_eq!(next(Succeeded), Next::End(FixReason::NotReproduced));
    assert_eq!(next(OtherFailure(None)), Next::End(FixReason::NotReproduced));
    assert_eq!(next(Canceled), Next::End(FixReason::DeploymentCanceled));
    assert_eq!(next(Errored), Next::End(FixReason::PlatformError));
}

#[test]
fn a_fix_is_opened_after_all_of_its_runs_only() {
    let next = |runs, outcome| next(FixStatus::Verifying, runs, outcome);
    assert_eq!(next((1, 0), Succeeded), Next::Open);
    assert_eq!(next((3, 0), Succeeded), Next::DeployFix);
    assert_eq!(next((3, 1), Succeeded), Next::DeployFix);
    assert_eq!(next((3, 2), Succeeded), Next::Open);
    for failure in [SameFailure, OtherFailure(None), OtherFailure(Some(Reason::StepFailed))] {
        assert_eq!(next((3, 2), failure), Next::End(FixReason::StillRed));
    }
    for reason in [Reason::CommitNotFound, Reason::CommitNotOnBranch] {
        assert_eq!(next((1, 0), OtherFailure(Some(reason))), Next::End(FixReason::CommitNotOnBranch));
    }
}

#[test]
fn a_lost_session_ends_the_fix_unless_the_result_is_known() {
    for status in [FixStatus::Reproducing, FixStatus::Verifying] {
        let progress = FixProgress { status, runs: 2, succeeded_runs: 0 };
        for outcome in [NotEnded, Collecting, Canceled] {
            let next = progress.next(Observed { is_session_held: false, outcome });
            assert_eq!(next, Next::End(FixReason::SessionLost), "{status} {outcome:?}");
        }
    }
    let progress = FixProgress { status: FixStatus::Verifying, runs: 1, succeeded_runs: 0 };
    assert_eq!(progress.next(Observed { is_session_held: false, outcome: Succeeded }), Next::Open);
    let progress = FixProgress { status: FixStatus::Reproducing, ..progress };
    let next = progress.next(Observed { is_session_held: false, outcome: SameFailure });
    assert_eq!(next, Next::End(FixReason::SessionLost), "the fix can't be deployed");
}

#[test]
fn an_outcome_needs_the_evidence_of_a_failed_deployment() {
    let outcome = |status, same| DeploymentOutcome::new(status, same, Some(Reason::StepFailed));
    assert_eq!(outcome(DeploymentStatus::Failed, None), Collecting);
    assert_eq!(outcome(DeploymentStatus::Failed, Some(true)), SameFailure);
    assert_eq!(outcome(DeploymentStatus::Failed, Some(false)), OtherFailure(Some(Reason::StepFailed)));
    assert_eq!(outcome(DeploymentStatus::Running, None), NotEnded);
    assert_eq!(outcome(DeploymentStatus::Superseded, None), Canceled);
}

#[test]
fn every_reason_ends_a_fix_and_every_status_has_a_text() {
    for reason in FixReason::ALL {
        assert!(reason.status().is_final(), "{reason}");
    }
    for status in FixStatus::ALL {
        assert!(!(status.is_final() && status.is_cancelable()), "{status}");
        assert!(!status.has_session() || status.is_cancelable(), "{status}");
    }
}

#[test]
fn final_statuses_are_listed() {
    let ends: Vec<_> = FixStatus::ALL.iter().copied().filter(|status| status.is_final()).collect();
    assert_eq!(ends, FixStatus::FINAL);
}
