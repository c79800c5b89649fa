use jiff::SignedDuration;

use super::*;
use crate::deployment::stage::Job;
use crate::deployment::status::JobStatus;

const TIMING: Timing = Timing {
    lease_grace: SignedDuration::from_secs(30),
    max_queue_time: SignedDuration::from_secs(86_400),
    timeout_slack: SignedDuration::from_secs(60),
};
const START: AdvanceInput = AdvanceInput {
    can_start: true,
    has_room: true,
    is_held: false,
    gates: BTreeMap::new(),
    gates_without_freezes: BTreeMap::new(),
    subjects: BTreeMap::new(),
};
const HELD: AdvanceInput = AdvanceInput {
    can_start: true,
    has_room: true,
    is_held: true,
    gates: BTreeMap::new(),
    gates_without_freezes: BTreeMap::new(),
    subjects: BTreeMap::new(),
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn stage(key: &str, needs: &[&str]) -> Stage {
    Stage {
        key: key.to_owned(),
        needs: needs.iter().map(|key| (*key).to_owned()).collect(),
        status: StageStatus::Pending,
        reason: None,
        planned_outcome: None,
        gate: Gate::Free,
        ignores_freeze: false,
        environment: None,
        blocker: None,
        timeout: SignedDuration::from_secs(600),
        max_attempts: 1,
        backoff: SignedDuration::from_secs(10),
        retry_at: None,
        attempt_number: 0,
        attempts_since_retry: 0,
        job: None,
    }
}

fn deployment(stages: Vec<Stage>) -> Deployment {
    Deployment { status: DeploymentStatus::Queued, reason: None, cancel: None, ends_by: None, stages }
}

fn diamond() -> Deployment {
    deployment(vec![stage("a", &[]), stage("b", &["a"]), stage("c", &["a"]), stage("d", &["b", "c"])])
}

/// A runner takes the job of a stage, with a lease of 60 seconds.
fn taken(mut deployment: Deployment, key: &str, now: i64) -> Deployment {
    let job = job(&mut deployment, key);
    job.status = JobStatus::Running;
    job.started_at = Some(at(now));
    job.lease_expires_at = Some(at(now + 60));
    job.step_started = true;
    deployment
}

fn ended(mut deployment: Deployment, key: &str, status: JobStatus) -> Deployment {
    job(&mut deployment, key).status = status;
    deployment
}

fn job<'a>(deployment: &'a mut Deployment, key: &str) -> &'a mut Job {
    deployment.stages.iter_mut().find(|stage| stage.key == key).unwrap().job.as_mut().unwrap()
}

fn go(deployment: Deployment, now: i64) -> Deployment {
    let next = advance(deployment, &START, TIMING, at(now));
    assert_eq!(advance(next.clone(), &START, TIMING, at(now)), next, "advancing is idempotent");
    next
}

fn stages(deployment: &Deployment) -> Vec<StageStatus> {
    deployment.stages.iter().map(|stage| stage.status).collect()
}

#[test]
fn a_diamond_runs_in_the_order_of_its_needs() {
    use StageStatus::{Pending, Queued, Succeeded};
    let waiting = advance(
        diamond(),
        &AdvanceInput {
            can_start: false,
            has_room: false,
            is_held: false,
            gates: BTreeMap::new(),
            gates_without_freezes: BTreeMap::new(),
            subjects: BTreeMap::new(),
        },
        TIMING,
        at(0),
    );
    assert_eq!(waiting, diamond());
    let begun = go(waiting, 0);
    assert_eq!(
        (begun.status, stages(&begun)),
        (DeploymentStatus::Running, vec![Queued, Pending, Pending, Pending])
    );
    let next = go(ended(taken(begun, "a", 1), "a", JobStatus::Succeeded), 2);
    assert_eq!(stages(&next), [Succeeded, Queued, Queued, Pending]);
    let next = go(ended(next, "c", JobStatus::Succeeded), 3);
    assert_eq!(stages(&next), [Succeeded, Queued, Succeeded, Pending]);
    let next = go(ended(next, "b", JobStatus::Succeeded), 4);
    let next = go(ended(next, "d", JobStatus::Succeeded), 5);
    assert_eq!(next.status, DeploymentStatus::Succeeded);
}

#[test]
fn stages_that_need_a_failed_one_are_skipped_and_the_others_continue() {
    use StageStatus::{Failed, Queued, Skipped, Succeeded};
    let next = go(ended(go(diamond(), 0), "a", JobStatus::Succeeded), 1);
    let next = go(ended(next, "b", JobStatus::Failed), 2);
    assert_eq!(
        (next.status, stages(&next)),
        (DeploymentStatus::Running, vec![Succeeded, Failed, Queued, Skipped])
    );
    let next = go(ended(next, "c", JobStatus::Succeeded), 3);
    assert_eq!((next.status, next.reason), (DeploymentStatus::Failed, Some(Reason::StepFailed)));
}

#[test]
fn a_deployment_past_its_deadline_is_canceled_and_fails() {
    let late = |mut deployment: Deployment| {
        deployment.ends_by = Some(at(900));
        deployment
    };
    // No runner has taken the job.
    let begun = late(go(deployment(vec![stage("a", &[]), stage("b", &["a"])]), 0));
    assert_eq!(next_advance_at(&begun, TIMING), Some(at(900)));
    assert_eq!(go(begun.clone(), 899).status, DeploymentStatus::Running);
    let over = go(begun.clone(), 900);
    assert_eq!((over.status, over.reason), (DeploymentStatus::Failed, Some(Reason::TimedOut)));
    // A runner has taken the job: the job is canceled, and the deployment waits for it as with any other
    // cancellation.
    let mut begun = taken(begun, "a", 880);
    begun = go(begun, 900);
    assert_eq!(
        (begun.status, job(&mut begun, "a").cancel),
        (DeploymentStatus::Canceling, Some(Reason::TimedOut))
    );
    let over = go(ended(begun, "a", JobStatus::Canceled), 905);
    assert_eq!((over.status, over.reason), (DeploymentStatus::Failed, Some(Reason::TimedOut)));
    assert_eq!(stages(&over), [StageStatus::Failed, StageStatus::Canceled]);
}

#[test]
fn a_runner_is_lost_after_its_lease_and_the_grace() {
    let begun = taken(go(deployment(vec![stage("a", &[])]), 0), "a", 0);
    let begun = go(begun, 1);
    assert_eq!(next_advance_at(&begun, TIMING), Some(at(90)));
    assert_eq!(go(begun.clone(), 89).status, DeploymentStatus::Running);
    let lost = go(begun, 90);
    assert_eq!((lost.status, lost.reason), (DeploymentStatus::Errored, Some(Reason::RunnerLost)));
}

#[test]
fn an_attempt_without_a_started_step_is_repeated() {
    let mut next = go(deployment(vec![stage("a", &[])]), 0);
    for (attempt, now) in [(1, 0), (2, 20), (3, 40)] {
        assert_eq!(next.stages[0].attempt_number, attempt);
        next = go(ended(next, "a", JobStatus::Errored), now);
        if attempt < 3 {
            assert_eq!(
                (next.status, next.stages[0].status),
                (DeploymentStatus::Running, StageStatus::Pending)
            );
            assert_eq!(next_advance_at(&next, TIMING), Some(at(now + 10)));
            next = go(next, now + 10);
        }
    }
    assert_eq!(next.status, DeploymentStatus::Errored);
}

/// One call never both ends an attempt and starts the next one: the end of the attempt would not be stored.
#[test]
fn a_lost_attempt_ends_before_the_next_begins() {
    let mut only = stage("a", &[]);
    only.backoff = SignedDuration::ZERO;
    let mut running = taken(go(deployment(vec![only]), 0), "a", 0);
    job(&mut running, "a").step_started = false;
    let lost = go(running, 90);
    assert_eq!((lost.stages[0].attempt_number, lost.stages[0].job.unwrap().status), (1, JobStatus::Errored));
    assert_eq!(next_advance_at(&lost, TIMING), Some(at(91)));
    assert_eq!(go(lost, 91).stages[0].attempt_number, 2);
}

#[test]
fn a_failed_step_is_not_retried() {
    let mut only = stage("a", &[]);
    only.max_attempts = 5;
    let failed = go(ended(taken(go(deployment(vec![only]), 0), "a", 0), "a", JobStatus::Failed), 1);
    assert_eq!(failed.status, DeploymentStatus::Failed);
}

#[test]
fn a_cancellation_waits_for_the_runner_until_it_is_lost() {
    let mut next = go(taken(go(diamond(), 0), "a", 0), 1);
    next.cancel = Some(Reason::CanceledByUser);
    let canceling = go(next, 2);
    assert_eq!(canceling.status, DeploymentStatus::Canceling);
    assert_eq!(canceling.stages[0].job.unwrap().cancel, Some(Reason::CanceledByUser));
    let reported = go(ended(canceling.clone(), "a", JobStatus::Canceled), 3);
    assert_eq!(
        (reported.status, reported.reason),
        (DeploymentStatus::Canceled, Some(Reason::CanceledByUser))
    );
    let gone = go(canceling, 90);
    assert_eq!((gone.status, gone.reason), (DeploymentStatus::Canceled, Some(Reason::Abandoned)));
}

#[test]
fn a_queued_job_is_canceled_immediately() {
    let mut next = go(diamond(), 0);
    next.cancel = Some(Reason::SessionEnded);
    assert_eq!(go(next, 1).status, DeploymentStatus::Canceled);
}

#[test]
fn a_hold_lets_running_stages_end() {
    let running = taken(go(diamond(), 0), "a", 0);
    let held = advance(running, &HELD, TIMING, at(1));
    assert_eq!(held.status, DeploymentStatus::Running);
    let held = advance(ended(held, "a", JobStatus::Succeeded), &HELD, TIMING, at(2));
    assert_eq!((held.status, held.stages[1].status), (DeploymentStatus::Paused, StageStatus::Pending));
    assert_eq!(go(held, 3).status, DeploymentStatus::Running);
}

#[test]
fn an_overdue_stage_fails_even_if_its_runner_does_not_end_it() {
    let mut running = taken(go(deployment(vec![stage("a", &[])]), 0), "a", 0);
    job(&mut running, "a").lease_expires_at = Some(at(10_000));
    let overdue = go(running, 660);
    assert_eq!(overdue.stages[0].job.unwrap().cancel, Some(Reason::TimedOut));
    let ended = go(ended(overdue, "a", JobStatus::Canceled), 661);
    assert_eq!((ended.status, ended.reason), (DeploymentStatus::Failed, Some(Reason::TimedOut)));
}

#[test]
fn a_planned_outcome_applies_when_the_stage_would_start() {
    let mut only = diamond();
    only.stages[1].planned_outcome = Some((StageStatus::Skipped, Reason::ConditionFalse));
    let next = go(only, 0);
    assert_eq!(next.stages[1].status, StageStatus::Pending);
    let next = go(ended(next, "a", JobStatus::Succeeded), 1);
    assert_eq!(
        (next.stages[1].status, next.stages[3].reason),
        (StageStatus::Skipped, Some(Reason::UpstreamSkipped))
    );
}

#[test]
fn a_retry_repeats_the_stage_and_those_that_need_it() {
    use crate::deployment::{NotRetried, Purpose, RetryInput, retry_stage};
    let input = RetryInput {
        purpose: Purpose::Pipeline,
        session_ended: false,
        is_expired: false,
        newer: None,
        allows_older: false,
    };
    let next = go(ended(go(diamond(), 0), "a", JobStatus::Succeeded), 1);
    let next = ended(ended(next, "b", JobStatus::Failed), "c", JobStatus::Succeeded);
    let mut failed = go(next, 2);
    assert_eq!(failed.status, DeploymentStatus::Failed);
    assert_eq!(retry_stage(&mut failed, "d", input), Err(NotRetried::NeedsOthers));
    assert_eq!(retry_stage(&mut failed, "c", input), Err(NotRetried::Succeeded));
    assert_eq!(retry_stage(&mut failed, "b", input), Ok(()));
    let again = go(failed, 3);
    assert_eq!((again.status, again.stages[1].attempt_number), (DeploymentStatus::Running, 2));
    let again = go(ended(again, "b", JobStatus::Succeeded), 4);
    let again = go(ended(again, "d", JobStatus::Succeeded), 5);
    assert_eq!(again.status, DeploymentStatus::Succeeded);
}

fn with_gate(decision: GateDecision) -> AdvanceInput {
    AdvanceInput { gates: BTreeMap::from([("production".to_owned(), decision)]), ..START }
}

/// A deployment whose only stage deploys to production.
fn release() -> Deployment {
    let mut deployment = diamond();
    deployment.stages.truncate(1);
    deployment.stages[0].environment = Some("production".to_owned());
    deployment
}

fn slot_of_another() -> GateDecision {
    let other = crate::id::DeploymentId::from(uuid::Uuid::from_u128(9));
    GateDecision::Wait(Blocker::WorkSlot { deployment: other })
}

#[test]
fn a_stage_waits_until_its_environment_lets_it_begin() {
    let waiting = advance(release(), &with_gate(slot_of_another()), TIMING, at(0));
    assert_eq!(waiting.status, DeploymentStatus::Waiting);
    assert_eq!(waiting.stages[0].status, StageStatus::Waiting);
    assert!(waiting.stages[0].blocker.is_some());
    assert_eq!(advance(waiting.clone(), &with_gate(slot_of_another()), TIMING, at(1)), waiting);
    // Without a decision nothing changes.
    assert_eq!(advance(waiting.clone(), &START, TIMING, at(1)), waiting);
    let begun = advance(waiting, &with_gate(GateDecision::Begin), TIMING, at(2));
    assert_eq!((begun.status, begun.stages[0].status), (DeploymentStatus::Running, StageStatus::Queued));
    assert_eq!(begun.stages[0].blocker, None);
}

#[test]
fn a_job_that_no_runner_has_taken_is_withdrawn_when_the_gate_closes() {
    let queued = advance(release(), &with_gate(GateDecision::Begin), TIMING, at(0));
    let closed = advance(queued.clone(), &with_gate(slot_of_another()), TIMING, at(1));
    assert_eq!(closed.stages[0].status, StageStatus::Waiting);
    assert_eq!(closed.stages[0].attempts_since_retry, 0, "the attempt does not count");
    let again = advance(closed, &with_gate(GateDecision::Begin), TIMING, at(2));
    assert_eq!((again.stages[0].attempt_number, again.stages[0].attempts_since_retry), (2, 1));
    // What runs goes on.
    let mut running = queued;
    running.stages[0].job.as_mut().unwrap().status = JobStatus::Running;
    let running = advance(running, &with_gate(slot_of_another()), TIMING, at(1));
    assert_eq!(running.stages[0].status, StageStatus::Running);
}

#[test]
fn an_outdated_deployment_ends_superseded() {
    let ended = advance(release(), &with_gate(GateDecision::Outdated), TIMING, at(0));
    assert_eq!((ended.status, ended.reason), (DeploymentStatus::Superseded, Some(Reason::Outdated)));
    assert_eq!(
        (ended.stages[0].status, ended.stages[0].reason),
        (StageStatus::Skipped, Some(Reason::Outdated))
    );
}

/// Before the stage is queued, while it waits, and after it was queued.
#[test]
fn a_stage_whose_user_may_not_deploy_fails() {
    let waiting = advance(release(), &with_gate(slot_of_another()), TIMING, at(0));
    let queued = advance(release(), &with_gate(GateDecision::Begin), TIMING, at(0));
    for deployment in [release(), waiting, queued.clone()] {
        let ended = advance(deployment, &with_gate(GateDecision::Denied), TIMING, at(1));
        assert_eq!((ended.status, ended.reason), (DeploymentStatus::Failed, Some(Reason::DeployDenied)));
        let stage = &ended.stages[0];
        assert_eq!((stage.status, stage.reason), (StageStatus::Failed, Some(Reason::DeployDenied)));
        assert!(stage.job.is_none_or(|job| job.status != JobStatus::Queued), "the job is withdrawn");
    }
    // What runs goes on.
    let mut running = queued;
    running.stages[0].job.as_mut().unwrap().status = JobStatus::Running;
    let running = advance(running, &with_gate(GateDecision::Denied), TIMING, at(1));
    assert_eq!(running.stages[0].status, StageStatus::Running);
}

#[test]
fn an_approval_comes_before_the_slot() {
    let mut gated = release();
    gated.stages[0].gate = Gate::Wanted;
    for decision in [GateDecision::Begin, slot_of_another()] {
        let waiting = advance(gated.clone(), &with_gate(decision), TIMING, at(0));
        assert_eq!((waiting.stages[0].status, &waiting.stages[0].blocker), (StageStatus::Waiting, &None));
    }
}

#[test]
fn a_deployment_that_only_waited_needs_room_to_go_on() {
    let waiting = advance(release(), &with_gate(slot_of_another()), TIMING, at(0));
    let full = AdvanceInput { has_room: false, ..with_gate(GateDecision::Begin) };
    let blocked = advance(waiting, &full, TIMING, at(1));
    assert_eq!((blocked.status, blocked.stages[0].status), (DeploymentStatus::Waiting, StageStatus::Waiting));
    assert_eq!(blocked.stages[0].blocker, Some(Blocker::Concurrency));
    assert_eq!(advance(blocked.clone(), &full, TIMING, at(2)), blocked);
    // Another blocker is shown instead.
    let held = AdvanceInput { has_room: false, ..with_gate(slot_of_another()) };
    let held = advance(blocked.clone(), &held, TIMING, at(2));
    assert!(matches!(held.stages[0].blocker, Some(Blocker::WorkSlot { .. })));
    let begun = advance(blocked, &with_gate(GateDecision::Begin), TIMING, at(3));
    assert_eq!((begun.status, begun.stages[0].status), (DeploymentStatus::Running, StageStatus::Queued));
}
