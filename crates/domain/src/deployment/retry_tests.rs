use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::approval::Gate;
use crate::deployment::Reason;

const NEWER: u128 = 7;

/// A deployment with the stages `first`, `second`, which needs it, and `last`, which needs `second`.
fn deployment(status: DeploymentStatus, first: StageStatus, second: StageStatus) -> Deployment {
    let stage = |key: &str, needs: &[&str], status| Stage {
        key: key.to_owned(),
        needs: needs.iter().map(|key| (*key).to_owned()).collect(),
        status,
        reason: Some(Reason::StepFailed),
        planned_outcome: None,
        gate: Gate::Free,
        ignores_freeze: false,
        environment: None,
        blocker: None,
        timeout: SignedDuration::from_secs(600),
        max_attempts: 1,
        backoff: SignedDuration::ZERO,
        retry_at: Some(Timestamp::UNIX_EPOCH),
        attempt_number: 3,
        attempts_since_retry: 2,
        job: None,
    };
    let stages = vec![
        stage("first", &[], first),
        stage("second", &["first"], second),
        stage("last", &["second"], StageStatus::Skipped),
    ];
    let (reason, cancel) = (Some(Reason::StepFailed), Some(Reason::CanceledByUser));
    Deployment { status, reason, cancel, ends_by: None, stages }
}

fn all_inputs() -> Vec<RetryInput> {
    let mut inputs = Vec::new();
    for purpose in Purpose::ALL {
        for facts in 0..16 {
            let newer = (facts & 4 > 0).then(|| DeploymentId::from(uuid::Uuid::from_u128(NEWER)));
            inputs.push(RetryInput {
                purpose: *purpose,
                session_ended: facts & 1 > 0,
                is_expired: facts & 2 > 0,
                newer,
                allows_older: facts & 8 > 0,
            });
        }
    }
    inputs
}

/// Every reason that applies on its own, in the order in which they are reported.
fn reasons(
    status: DeploymentStatus,
    (first, second): (StageStatus, StageStatus),
    input: RetryInput,
) -> Vec<NotRetried> {
    let newer = DeploymentId::from(uuid::Uuid::from_u128(NEWER));
    let is_final = status.is_final();
    [
        (input.purpose == Purpose::Teardown, NotRetried::Teardown),
        (is_final && input.session_ended, NotRetried::SessionEnded),
        (is_final && input.is_expired, NotRetried::Expired),
        (is_final && input.newer.is_some() && !input.allows_older, NotRetried::NewerDeployment(newer)),
        (status == DeploymentStatus::Canceling, NotRetried::Canceling),
        (second == StageStatus::Succeeded && !input.allows_older, NotRetried::Succeeded),
        (!second.is_final(), NotRetried::NotEnded),
        (first != StageStatus::Succeeded, NotRetried::NeedsOthers),
    ]
    .into_iter()
    .filter_map(|(applies, reason)| applies.then_some(reason))
    .collect()
}

#[test]
fn every_retry_of_a_stage_in_every_status() {
    for status in DeploymentStatus::ALL {
        for (first, second) in StageStatus::ALL
            .iter()
            .flat_map(|first| StageStatus::ALL.iter().map(move |second| (*first, *second)))
        {
            for input in all_inputs() {
                let before = deployment(*status, first, second);
                let mut after = before.clone();
                let result = retry_stage(&mut after, "second", input);
                let refused = reasons(*status, (first, second), input).into_iter().next();
                assert_eq!(result.err(), refused, "{status} {first} {second} {input:?}");
                if refused.is_some() {
                    assert_eq!(after, before, "a refused retry changes nothing");
                } else {
                    assert_retried(&before, &after);
                }
            }
        }
    }
}

fn assert_retried(before: &Deployment, after: &Deployment) {
    assert_eq!((after.status, after.reason, after.cancel), (DeploymentStatus::Running, None, None));
    assert_eq!(after.stages[0], before.stages[0], "stages that it needs are not changed");
    for (stage, earlier) in after.stages.iter().zip(&before.stages).skip(1) {
        let reset = Stage {
            status: StageStatus::Pending,
            reason: None,
            retry_at: None,
            attempts_since_retry: 0,
            ..earlier.clone()
        };
        assert_eq!(*stage, reset);
    }
}

#[test]
fn an_unknown_stage_is_not_retried() {
    for status in DeploymentStatus::ALL {
        for input in all_inputs() {
            let mut deployment = deployment(*status, StageStatus::Succeeded, StageStatus::Failed);
            let refused = retry_stage(&mut deployment, "other", input).unwrap_err();
            let of_deployment = matches!(
                refused,
                NotRetried::Teardown
                    | NotRetried::SessionEnded
                    | NotRetried::Expired
                    | NotRetried::NewerDeployment(_)
            );
            assert!(of_deployment || refused == NotRetried::NoSuchStage, "{status} {input:?} {refused}");
        }
    }
}
