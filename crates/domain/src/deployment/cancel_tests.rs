use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::approval::Gate;
use crate::deployment::{AdvanceInput, Timing, advance};

const TIMING: Timing = Timing {
    lease_grace: SignedDuration::from_secs(30),
    max_queue_time: SignedDuration::from_secs(86_400),
    timeout_slack: SignedDuration::from_secs(60),
};
const CAUSES: [CancelCause; 6] = [
    CancelCause::User { force: false },
    CancelCause::User { force: true },
    CancelCause::SessionEnd,
    CancelCause::PipelineStop { with_queued: false },
    CancelCause::PipelineStop { with_queued: true },
    CancelCause::GiveUp,
];

/// The table of [`cancel`] for deployments that are not teardowns and were not canceled before. The columns
/// are those of [`CAUSES`]: `e`nded, `c`anceling, `m`arked, `-` unchanged.
const TABLE: [(DeploymentStatus, &str); 10] = [
    (DeploymentStatus::Queued, "eee-mm"),
    (DeploymentStatus::Running, "cccmmm"),
    (DeploymentStatus::Waiting, "cccmmm"),
    (DeploymentStatus::Paused, "cccmmm"),
    (DeploymentStatus::Canceling, "cc-mmm"),
    (DeploymentStatus::Succeeded, "------"),
    (DeploymentStatus::Failed, "------"),
    (DeploymentStatus::Errored, "------"),
    (DeploymentStatus::Canceled, "------"),
    (DeploymentStatus::Superseded, "------"),
];

#[test]
fn every_cancellation_of_a_deployment_in_every_status() {
    let statuses: Vec<DeploymentStatus> = TABLE.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, DeploymentStatus::ALL);
    for (status, row) in TABLE {
        for (cause, expected) in CAUSES.into_iter().zip(row.chars()) {
            for purpose in Purpose::ALL {
                for is_canceled in [false, true] {
                    let is_unaffected = *purpose == Purpose::Teardown
                        && matches!(cause, CancelCause::SessionEnd | CancelCause::PipelineStop { .. });
                    let is_repeated = is_canceled && cause == CancelCause::User { force: false };
                    let expected = match expected {
                        _ if is_unaffected || is_repeated => Canceled::Unchanged,
                        'e' => Canceled::Ended,
                        'c' => Canceled::Canceling,
                        'm' => Canceled::Marked,
                        _ => Canceled::Unchanged,
                    };
                    let canceled = cancel(status, *purpose, is_canceled, cause);
                    assert_eq!(canceled, expected, "{status} {purpose:?} {is_canceled} {cause:?}");
                }
            }
        }
    }
}

#[test]
fn only_a_deployment_that_has_not_started_ends_immediately() {
    for status in DeploymentStatus::ALL {
        assert_eq!(Canceled::Unchanged.status(*status), *status);
        assert_eq!(Canceled::Marked.status(*status), *status);
        for cause in CAUSES {
            let canceled = cancel(*status, Purpose::Session, false, cause);
            let after = canceled.status(*status);
            assert_eq!(status.is_final(), canceled == Canceled::Unchanged && after.is_final());
            assert_eq!(canceled == Canceled::Ended, !status.is_final() && after.is_final());
        }
    }
}

/// A deployment with one stage, whose newest attempt has the status `job`.
fn with_stage(status: StageStatus, job: Option<JobStatus>) -> Deployment {
    let now = Timestamp::UNIX_EPOCH;
    let job = job.map(|status| Job {
        status,
        reason: None,
        queued_at: now,
        started_at: (status == JobStatus::Running).then_some(now),
        lease_expires_at: (status == JobStatus::Running).then_some(now + SignedDuration::from_secs(60)),
        step_started: true,
        cancel: None,
    });
    let stage = crate::deployment::Stage {
        key: "only".to_owned(),
        needs: Vec::new(),
        status,
        reason: None,
        planned_outcome: None,
        gate: Gate::Free,
        ignores_freeze: false,
        environment: None,
        blocker: None,
        timeout: SignedDuration::from_secs(600),
        max_attempts: 1,
        backoff: SignedDuration::ZERO,
        retry_at: None,
        attempt_number: 1,
        attempts_since_retry: 1,
        job,
    };
    let status = DeploymentStatus::Running;
    Deployment { status, reason: None, cancel: None, ends_by: None, stages: vec![stage] }
}

/// All stages with all newest attempts, also those that the machine does not produce.
fn all_stages() -> impl Iterator<Item = (StageStatus, Option<JobStatus>)> {
    let jobs = || std::iter::once(None).chain(JobStatus::ALL.iter().copied().map(Some));
    StageStatus::ALL.iter().flat_map(move |status| jobs().map(move |job| (*status, job)))
}

#[test]
fn every_cancellation_of_a_stage_in_every_status() {
    for (status, job) in all_stages() {
        let before = with_stage(status, job);
        let has_live_job = job.is_some_and(|job| !job.is_final());
        let mut expected = before.clone();
        let stage = &mut expected.stages[0];
        if !status.is_final() {
            match &mut stage.job {
                Some(job) if has_live_job => job.cancel = Some(Reason::CanceledByUser),
                _ => (stage.status, stage.reason) = (StageStatus::Canceled, Some(Reason::CanceledByUser)),
            }
        }
        let outcome = if status.is_final() { CanceledStage::Unchanged } else { CanceledStage::Done };
        let mut canceled = before.clone();
        assert_eq!(cancel_stage(&mut canceled, "only", Reason::CanceledByUser), outcome, "{status} {job:?}");
        assert_eq!(canceled, expected, "{status} {job:?}");

        let mut given_up = before.clone();
        assert_eq!(give_up_stage(&mut given_up, "only"), outcome, "{status} {job:?}");
        let stage = &given_up.stages[0];
        let has_ended = stage.status.is_final() || stage.job.is_some_and(|job| job.status.is_final());
        assert!(has_ended, "{status} {job:?}");
        assert_eq!(cancel_stage(&mut given_up, "other", Reason::CanceledByUser), CanceledStage::NoSuchStage);
    }
}

/// The table of `advance` for a canceled deployment.
#[test]
fn every_stage_of_a_canceled_deployment() {
    use StageStatus::{Canceled, Errored, Failed, Pending, Queued, Running, Succeeded, Waiting};
    let input = AdvanceInput {
        can_start: true,
        has_room: true,
        is_held: false,
        gates: BTreeMap::new(),
        gates_without_freezes: BTreeMap::new(),
        subjects: BTreeMap::new(),
    };
    // With five attempts an errored one would be repeated, if the deployment were not canceled.
    for ((status, job), max_attempts) in all_stages().flat_map(|stage| [(stage, 1), (stage, 5)]) {
        // A stage that is queued or running always has an attempt.
        if job.is_none() && matches!(status, Queued | Running) {
            continue;
        }
        let mut deployment = with_stage(status, job);
        deployment.cancel = Some(Reason::SessionEnded);
        deployment.stages[0].max_attempts = max_attempts;
        let after = advance(deployment, &input, TIMING, Timestamp::UNIX_EPOCH);
        let expected = match (status, job) {
            (Pending | Waiting, _) => Canceled,
            (Queued | Running, Some(JobStatus::Queued | JobStatus::Canceled)) => Canceled,
            (Queued | Running, Some(JobStatus::Running)) => Running,
            (Queued | Running, Some(JobStatus::Succeeded)) => Succeeded,
            (Queued | Running, Some(JobStatus::Failed)) => Failed,
            (Queued | Running, Some(JobStatus::Errored)) if max_attempts == 5 => Canceled,
            (Queued | Running, Some(JobStatus::Errored)) => Errored,
            (ended, _) => ended,
        };
        let stage = &after.stages[0];
        assert_eq!(stage.status, expected, "{status} {job:?}");
        if expected == Running {
            assert_eq!(stage.job.unwrap().cancel, Some(Reason::SessionEnded));
            assert_eq!((after.status, after.reason), (DeploymentStatus::Canceling, None));
        } else {
            let ended = (DeploymentStatus::Canceled, Some(Reason::SessionEnded));
            assert_eq!((after.status, after.reason), ended, "{status} {job:?}");
        }
    }
}
