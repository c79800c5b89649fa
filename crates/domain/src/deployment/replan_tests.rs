use jiff::SignedDuration;

use super::*;
use crate::approval::Gate;
use crate::deployment::DeploymentStatus;

fn planned(key: &str, needs: &[&str]) -> PlannedStage {
    PlannedStage {
        key: key.to_owned(),
        name: key.to_owned(),
        needs: needs.iter().map(|key| (*key).to_owned()).collect(),
        pool: "large".to_owned(),
        planned_outcome: Some((StageStatus::Skipped, Reason::ConditionFalse)),
        detail: None,
        needs_approval: true,
        environment: None,
        timeout_seconds: 5,
        max_attempts: 6,
        backoff_seconds: 7,
    }
}

fn stage(key: &str, status: StageStatus) -> Stage {
    Stage {
        status,
        attempt_number: 2,
        ..Stage::planned(&PlannedStage {
            planned_outcome: None,
            needs_approval: false,
            timeout_seconds: 1,
            max_attempts: 1,
            backoff_seconds: 1,
            ..planned(key, &[])
        })
    }
}

fn deployment(stages: Vec<Stage>) -> Deployment {
    Deployment { status: DeploymentStatus::Running, reason: None, cancel: None, ends_by: None, stages }
}

#[test]
fn a_stage_takes_over_the_plan_unless_it_has_begun() {
    for status in StageStatus::ALL {
        let before = stage("a", *status);
        let mut merged = deployment(vec![before.clone()]);
        merged.apply_new_plan(Ok(&[planned("a", &[])]));
        let [after] = merged.stages.as_slice() else { panic!("{status}") };
        if !matches!(status, StageStatus::Pending | StageStatus::Waiting) {
            assert_eq!(*after, before);
            continue;
        }
        let expected = Stage {
            status: StageStatus::Pending,
            planned_outcome: Some((StageStatus::Skipped, Reason::ConditionFalse)),
            gate: Gate::Wanted,
            timeout: SignedDuration::from_secs(5),
            max_attempts: 6,
            backoff: SignedDuration::from_secs(7),
            ..before
        };
        assert_eq!(*after, expected, "{status}");
    }
}

#[test]
fn new_stages_are_added_if_they_are_connected_to_what_is_planned() {
    let mut merged =
        deployment(vec![stage("done", StageStatus::Succeeded), stage("a", StageStatus::Pending)]);
    merged.apply_new_plan(Ok(&[
        planned("first", &["done"]),
        planned("done", &[]),
        planned("a", &["first"]),
        planned("later", &["a"]),
        planned("last", &["later"]),
        planned("other", &["done"]),
    ]));
    let keys: Vec<&str> = merged.stages.iter().map(|stage| stage.key.as_str()).collect();
    assert_eq!(keys, ["first", "done", "a", "later", "last"]);
    let attempts: Vec<u32> = merged.stages.iter().map(|stage| stage.attempt_number).collect();
    assert_eq!(attempts, [0, 2, 2, 0, 0]);
}

#[test]
fn a_stage_that_is_not_in_the_plan_is_skipped_unless_it_has_ended() {
    let mut merged = deployment(vec![stage("a", StageStatus::Pending), stage("b", StageStatus::Failed)]);
    merged.apply_new_plan(Ok(&[planned("c", &[])]));
    let ends: Vec<_> = merged.stages.iter().map(|stage| (stage.key.as_str(), stage.status)).collect();
    assert_eq!(ends, [("a", StageStatus::Skipped), ("b", StageStatus::Failed)]);
    assert_eq!(merged.stages[0].reason, Some(Reason::InvalidDefinition));
}

#[test]
fn without_a_plan_nothing_is_left_to_begin() {
    let mut merged = deployment(vec![stage("a", StageStatus::Waiting), stage("b", StageStatus::Succeeded)]);
    merged.apply_new_plan(Err(NotPlanned));
    let ends: Vec<StageStatus> = merged.stages.iter().map(|stage| stage.status).collect();
    assert_eq!(ends, [StageStatus::Errored, StageStatus::Succeeded]);
}

#[test]
fn another_version_needs_the_stage_and_no_stage_at_work() {
    for status in StageStatus::ALL {
        let other = deployment(vec![stage("a", StageStatus::Pending), stage("b", *status)]);
        let is_at_work = matches!(status, StageStatus::Queued | StageStatus::Running);
        let expected = if is_at_work { Err(NotRetried::OthersAtWork) } else { Ok(()) };
        assert_eq!(check_other_version(&other, "a", Some(&["a"])), expected, "{status}");
        assert_eq!(check_other_version(&other, "a", Some(&["b"])), Err(NotRetried::NotInDefinition));
        assert_eq!(check_other_version(&other, "a", None), Err(NotRetried::NotInDefinition));
    }
}
