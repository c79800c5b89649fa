//! Stages that need an approval.

use jiff::SignedDuration;

use super::*;
use crate::deployment::gate::Freeze;
use crate::deployment::status::JobStatus;
use crate::deployment::{Purpose, RetryInput, retry_stage};

const TIMING: Timing = Timing {
    lease_grace: SignedDuration::from_secs(30),
    max_queue_time: SignedDuration::from_secs(86_400),
    timeout_slack: SignedDuration::from_secs(60),
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn digest(digit: &str) -> SubjectDigest {
    format!("sha256:{}", digit.repeat(64)).parse().unwrap()
}

fn approved(digit: &str, until: i64) -> Gate {
    Gate::Approved { digest: digest(digit), until: at(until) }
}

fn open(digit: &str, until: i64) -> Gate {
    Gate::Pending { digest: digest(digit), expires_at: at(until) }
}

/// A deployment with one stage, which deploys to production.
fn release(gate: Gate) -> Deployment {
    let planned = PlannedStage {
        key: "release".to_owned(),
        name: "release".to_owned(),
        needs: Vec::new(),
        pool: "default".to_owned(),
        planned_outcome: None,
        detail: None,
        needs_approval: true,
        environment: Some("production".to_owned()),
        timeout_seconds: 600,
        max_attempts: 1,
        backoff_seconds: 10,
    };
    let stages = vec![Stage { gate, ..Stage::planned(&planned) }];
    Deployment { status: DeploymentStatus::Running, reason: None, cancel: None, ends_by: None, stages }
}

fn frozen() -> GateDecision {
    let freeze = Freeze { id: uuid::Uuid::from_u128(1).into(), name: "weekend".to_owned(), until: at(500) };
    GateDecision::Wait(Blocker::Freeze(freeze))
}

/// What the stage would do is subject `a`.
fn input(environment: GateDecision) -> AdvanceInput {
    AdvanceInput {
        can_start: true,
        has_room: true,
        is_held: false,
        gates: BTreeMap::from([("production".to_owned(), environment)]),
        gates_without_freezes: BTreeMap::from([("production".to_owned(), GateDecision::Begin)]),
        subjects: BTreeMap::from([("release".to_owned(), digest("a"))]),
    }
}

fn go(deployment: Deployment, input: &AdvanceInput, now: i64) -> Deployment {
    let next = advance(deployment, input, TIMING, at(now));
    assert_eq!(advance(next.clone(), input, TIMING, at(now)), next, "advancing is idempotent");
    next
}

/// Gate, then at time 100: status, reason and gate of the stage.
#[test]
fn a_stage_begins_only_with_a_valid_approval_of_what_it_would_do() {
    use StageStatus::{Failed, Queued, Skipped, Waiting};
    let table = [
        (Gate::Free, Queued, None, Gate::Free),
        (Gate::Wanted, Waiting, None, Gate::Wanted),
        (open("a", 101), Waiting, None, open("a", 101)),
        (open("a", 100), Failed, Some(Reason::ApprovalExpired), Gate::Refused(Refusal::Expired)),
        (open("b", 100), Waiting, None, Gate::Wanted),
        (approved("a", 101), Queued, None, approved("a", 101)),
        (approved("a", 100), Waiting, Some(Reason::ApprovalLapsed), Gate::Wanted),
        (approved("b", 101), Waiting, None, Gate::Wanted),
        (
            Gate::Refused(Refusal::Rejected),
            Failed,
            Some(Reason::ApprovalRejected),
            Gate::Refused(Refusal::Rejected),
        ),
        (
            Gate::Refused(Refusal::Superseded),
            Skipped,
            Some(Reason::Outdated),
            Gate::Refused(Refusal::Superseded),
        ),
    ];
    for (gate, status, reason, after) in table {
        let next = go(release(gate.clone()), &input(GateDecision::Begin), 100);
        let [stage] = next.stages.as_slice() else { panic!("{gate:?}") };
        assert_eq!((stage.status, stage.reason, &stage.gate), (status, reason, &after), "{gate:?}");
        assert_eq!(stage.job.is_some(), status == Queued, "{gate:?}");
    }
    // What it would do is not determined.
    let unknown = AdvanceInput { subjects: BTreeMap::new(), ..input(GateDecision::Begin) };
    let next = go(release(approved("a", 101)), &unknown, 100);
    assert_eq!((next.stages[0].status, &next.stages[0].gate), (Waiting, &approved("a", 101)));
}

#[test]
fn the_outcomes_of_a_refused_approval() {
    for (refusal, status, reason) in [
        (Refusal::Rejected, DeploymentStatus::Failed, Reason::ApprovalRejected),
        (Refusal::Expired, DeploymentStatus::Failed, Reason::ApprovalExpired),
        (Refusal::Superseded, DeploymentStatus::Superseded, Reason::Outdated),
    ] {
        let next = go(release(Gate::Refused(refusal)), &input(GateDecision::Begin), 1);
        assert_eq!((next.status, next.reason), (status, Some(reason)));
    }
}

#[test]
fn an_approved_stage_waits_for_its_environment_and_may_lapse_there() {
    let waiting = go(release(approved("a", 300)), &input(frozen()), 100);
    assert!(matches!(waiting.stages[0].blocker, Some(Blocker::Freeze(_))));
    assert_eq!(
        next_advance_at(&waiting, TIMING),
        Some(at(300)),
        "the approval lapses before the freeze ends"
    );
    let lapsed = go(waiting, &input(frozen()), 300);
    assert_eq!(
        (lapsed.stages[0].reason, &lapsed.stages[0].gate),
        (Some(Reason::ApprovalLapsed), &Gate::Wanted)
    );
    assert_eq!((lapsed.stages[0].status, &lapsed.stages[0].blocker), (StageStatus::Waiting, &None));
}

#[test]
fn a_stage_that_ignores_freezes_begins_and_a_retry_resets_that() {
    let mut deployment = release(approved("a", 300));
    deployment.stages[0].ignores_freeze = true;
    let begun = go(deployment, &input(frozen()), 100);
    assert_eq!(begun.stages[0].status, StageStatus::Queued);
    let mut failed = begun;
    failed.stages[0].status = StageStatus::Failed;
    failed.status = DeploymentStatus::Failed;
    let input = RetryInput {
        purpose: Purpose::Pipeline,
        session_ended: false,
        is_expired: false,
        newer: None,
        allows_older: false,
    };
    retry_stage(&mut failed, "release", input).unwrap();
    assert!(!failed.stages[0].ignores_freeze);
}

#[test]
fn an_open_approval_is_looked_at_when_it_expires() {
    let waiting = go(release(open("a", 300)), &input(GateDecision::Begin), 100);
    assert_eq!(next_advance_at(&waiting, TIMING), Some(at(300)));
}

#[test]
fn a_job_that_no_runner_has_taken_is_withdrawn_when_its_approval_ends() {
    let queued = go(release(approved("a", 300)), &input(GateDecision::Begin), 100);
    assert_eq!(next_advance_at(&queued, TIMING), Some(at(300)));
    let changed = AdvanceInput {
        subjects: BTreeMap::from([("release".to_owned(), digest("b"))]),
        ..input(GateDecision::Begin)
    };
    for (input, now, reason) in
        [(input(GateDecision::Begin), 300, Some(Reason::ApprovalLapsed)), (changed.clone(), 200, None)]
    {
        let next = go(queued.clone(), &input, now);
        let [stage] = next.stages.as_slice() else { panic!("{next:?}") };
        assert_eq!((stage.status, stage.reason, &stage.gate), (StageStatus::Waiting, reason, &Gate::Wanted));
        assert_eq!(stage.job.map(|job| job.status), Some(JobStatus::Errored));
        assert_eq!(stage.attempts_since_retry, 0, "the attempt does not count");
    }
    // What runs goes on.
    let mut running = queued;
    running.stages[0].job.as_mut().unwrap().status = JobStatus::Running;
    assert_eq!(go(running, &changed, 400).stages[0].status, StageStatus::Running);
}

#[test]
fn a_retry_keeps_a_valid_approval_and_replaces_a_refused_one() {
    let retry = |gate: Gate| {
        let mut deployment = release(gate);
        deployment.stages[0].status = StageStatus::Failed;
        deployment.status = DeploymentStatus::Failed;
        let input = RetryInput {
            purpose: Purpose::Pipeline,
            session_ended: false,
            is_expired: false,
            newer: None,
            allows_older: false,
        };
        retry_stage(&mut deployment, "release", input).unwrap();
        deployment
    };
    let next = go(retry(approved("a", 300)), &input(GateDecision::Begin), 100);
    assert_eq!(next.stages[0].status, StageStatus::Queued);
    let lapsed = go(retry(approved("a", 300)), &input(GateDecision::Begin), 300);
    assert_eq!(lapsed.stages[0].gate, Gate::Wanted);
    for refusal in [Refusal::Rejected, Refusal::Expired, Refusal::Superseded] {
        let next = go(retry(Gate::Refused(refusal)), &input(GateDecision::Begin), 100);
        assert_eq!((next.stages[0].status, &next.stages[0].gate), (StageStatus::Waiting, &Gate::Wanted));
    }
}
