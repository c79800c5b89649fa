use super::*;

const TIMING: Timing = Timing {
    grace: SignedDuration::from_secs(30),
    longest_queue: SignedDuration::from_secs(86_400),
    timeout_slack: SignedDuration::from_secs(60),
};
const GO: Facts = Facts { may_begin: true, held: false };
const HELD: Facts = Facts { may_begin: true, held: true };

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn stage(key: &str, needs: &[&str]) -> Stage {
    Stage {
        key: key.to_owned(),
        needs: needs.iter().map(|key| (*key).to_owned()).collect(),
        status: StageStatus::Pending,
        reason: None,
        verdict: None,
        gated: false,
        timeout: SignedDuration::from_secs(600),
        attempts: 1,
        backoff: SignedDuration::from_secs(10),
        retry_at: None,
        attempt: 0,
        tried: 0,
        job: None,
    }
}

fn deployment(stages: Vec<Stage>) -> Deployment {
    Deployment { status: DeploymentStatus::Queued, reason: None, cancel: None, ends_by: None, stages }
}

fn diamond() -> Deployment {
    deployment(vec![stage("a", &[]), stage("b", &["a"]), stage("c", &["a"]), stage("d", &["b", "c"])])
}

/// A runner takes a stage's attempt, and has it until 60.
fn taken(mut deployment: Deployment, key: &str, now: i64) -> Deployment {
    let job = job(&mut deployment, key);
    job.status = JobStatus::Running;
    job.started_at = Some(at(now));
    job.lease_expires_at = Some(at(now + 60));
    job.touched = true;
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
    let next = advance(deployment, GO, TIMING, at(now));
    assert_eq!(advance(next.clone(), GO, TIMING, at(now)), next, "asked twice");
    next
}

fn stages(deployment: &Deployment) -> Vec<StageStatus> {
    deployment.stages.iter().map(|stage| stage.status).collect()
}

#[test]
fn a_diamond_goes_from_top_to_bottom() {
    use StageStatus::{Pending, Queued, Succeeded};
    let waiting = advance(diamond(), Facts { may_begin: false, held: false }, TIMING, at(0));
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
fn what_needs_a_failed_stage_is_skipped_and_the_rest_goes_on() {
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
fn what_is_not_over_in_time_is_ended_and_has_failed() {
    let late = |mut deployment: Deployment| {
        deployment.ends_by = Some(at(900));
        deployment
    };
    // Nobody has taken it.
    let begun = late(go(deployment(vec![stage("a", &[]), stage("b", &["a"])]), 0));
    assert_eq!(next_look(&begun, TIMING), Some(at(900)));
    assert_eq!(go(begun.clone(), 899).status, DeploymentStatus::Running);
    let over = go(begun.clone(), 900);
    assert_eq!((over.status, over.reason), (DeploymentStatus::Failed, Some(Reason::TimedOut)));
    // Somebody has: it is asked to end, and then waited for as for any other cancel.
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
fn a_lost_runner_is_noticed_when_nothing_of_it_can_run_any_more() {
    let begun = taken(go(deployment(vec![stage("a", &[])]), 0), "a", 0);
    let begun = go(begun, 1);
    assert_eq!(next_look(&begun, TIMING), Some(at(90)));
    assert_eq!(go(begun.clone(), 89).status, DeploymentStatus::Running);
    let lost = go(begun, 90);
    assert_eq!((lost.status, lost.reason), (DeploymentStatus::Errored, Some(Reason::RunnerLost)));
}

#[test]
fn an_attempt_that_touched_nothing_is_made_again() {
    let mut next = go(deployment(vec![stage("a", &[])]), 0);
    for (attempt, now) in [(1, 0), (2, 20), (3, 40)] {
        assert_eq!(next.stages[0].attempt, attempt);
        next = go(ended(next, "a", JobStatus::Errored), now);
        if attempt < 3 {
            assert_eq!(
                (next.status, next.stages[0].status),
                (DeploymentStatus::Waiting, StageStatus::Pending)
            );
            assert_eq!(next_look(&next, TIMING), Some(at(now + 10)));
            next = go(next, now + 10);
        }
    }
    assert_eq!(next.status, DeploymentStatus::Errored);
}

/// The end of an attempt and the beginning of the next are never one step: the end would not be written down.
#[test]
fn a_lost_attempt_ends_before_the_next_begins() {
    let mut only = stage("a", &[]);
    only.backoff = SignedDuration::ZERO;
    let mut running = taken(go(deployment(vec![only]), 0), "a", 0);
    job(&mut running, "a").touched = false;
    let lost = go(running, 90);
    assert_eq!((lost.stages[0].attempt, lost.stages[0].job.unwrap().status), (1, JobStatus::Errored));
    assert_eq!(next_look(&lost, TIMING), Some(at(91)));
    assert_eq!(go(lost, 91).stages[0].attempt, 2);
}

#[test]
fn a_step_that_failed_is_not_asked_again() {
    let mut only = stage("a", &[]);
    only.attempts = 5;
    let failed = go(ended(taken(go(deployment(vec![only]), 0), "a", 0), "a", JobStatus::Failed), 1);
    assert_eq!(failed.status, DeploymentStatus::Failed);
}

#[test]
fn cancel_asks_and_then_gives_up_on_a_runner_that_is_gone() {
    let mut next = go(taken(go(diamond(), 0), "a", 0), 1);
    next.cancel = Some(Cancel { reason: Reason::CanceledByUser });
    let canceling = go(next, 2);
    assert_eq!(canceling.status, DeploymentStatus::Canceling);
    assert_eq!(canceling.stages[0].job.unwrap().cancel, Some(Reason::CanceledByUser));
    let heard = go(ended(canceling.clone(), "a", JobStatus::Canceled), 3);
    assert_eq!((heard.status, heard.reason), (DeploymentStatus::Canceled, Some(Reason::CanceledByUser)));
    let gone = go(canceling, 90);
    assert_eq!((gone.status, gone.reason), (DeploymentStatus::Canceled, Some(Reason::Abandoned)));
}

#[test]
fn what_waits_for_a_runner_ends_at_once() {
    let mut next = go(diamond(), 0);
    next.cancel = Some(Cancel { reason: Reason::SessionEnded });
    assert_eq!(go(next, 1).status, DeploymentStatus::Canceled);
}

#[test]
fn a_hold_lets_running_stages_end() {
    let running = taken(go(diamond(), 0), "a", 0);
    let held = advance(running, HELD, TIMING, at(1));
    assert_eq!(held.status, DeploymentStatus::Running);
    let held = advance(ended(held, "a", JobStatus::Succeeded), HELD, TIMING, at(2));
    assert_eq!((held.status, held.stages[1].status), (DeploymentStatus::Paused, StageStatus::Pending));
    assert_eq!(go(held, 3).status, DeploymentStatus::Running);
}

#[test]
fn what_takes_too_long_fails_even_if_its_runner_does_not_see_to_it() {
    let mut running = taken(go(deployment(vec![stage("a", &[])]), 0), "a", 0);
    job(&mut running, "a").lease_expires_at = Some(at(10_000));
    let overdue = go(running, 660);
    assert_eq!(overdue.stages[0].job.unwrap().cancel, Some(Reason::TimedOut));
    let ended = go(ended(overdue, "a", JobStatus::Canceled), 661);
    assert_eq!((ended.status, ended.reason), (DeploymentStatus::Failed, Some(Reason::TimedOut)));
}

#[test]
fn a_verdict_is_carried_out_when_its_turn_comes() {
    let mut only = diamond();
    only.stages[1].verdict = Some((StageStatus::Skipped, Reason::ConditionFalse));
    let next = go(only, 0);
    assert_eq!(next.stages[1].status, StageStatus::Pending);
    let next = go(ended(next, "a", JobStatus::Succeeded), 1);
    assert_eq!(
        (next.stages[1].status, next.stages[3].reason),
        (StageStatus::Skipped, Some(Reason::UpstreamSkipped))
    );
}

#[test]
fn a_retry_makes_new_attempts_of_it_and_of_what_follows() {
    use crate::deployment::{NotRetried, retry_stage};
    let next = go(ended(go(diamond(), 0), "a", JobStatus::Succeeded), 1);
    let next = ended(ended(next, "b", JobStatus::Failed), "c", JobStatus::Succeeded);
    let mut failed = go(next, 2);
    assert_eq!(failed.status, DeploymentStatus::Failed);
    assert_eq!(retry_stage(&mut failed, "d"), Err(NotRetried::NeedsOthers));
    assert_eq!(retry_stage(&mut failed, "c"), Err(NotRetried::Succeeded));
    assert_eq!(retry_stage(&mut failed, "b"), Ok(()));
    let again = go(failed, 3);
    assert_eq!((again.status, again.stages[1].attempt), (DeploymentStatus::Running, 2));
    let again = go(ended(again, "b", JobStatus::Succeeded), 4);
    let again = go(ended(again, "d", JobStatus::Succeeded), 5);
    assert_eq!(again.status, DeploymentStatus::Succeeded);
}
