use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::definition::parse;

const SHOP: &str = r#"
variables: { REGION: eu }
ephemeralEnvironments:
  "pr-*":
    max: 5
    variables: { REGION: us }
    onRelease: [teardown]
stages:
  build: { steps: [{ image: a, run: b, retry: { attempts: 4, backoff: 5s } }] }
  deploy:
    needs: [build]
    if: variables.REGION == "us"
    steps: [{ image: a, run: b }]
  share: { needs: [deploy], steps: [{ uses: acme/share@v1 }] }
  teardown: { steps: [{ image: a, run: b }] }
"#;

fn input(purpose: Purpose, environment: Option<&str>) -> PlanInput {
    PlanInput {
        purpose,
        environment: environment.map(str::to_owned),
        pipeline: "shop".to_owned(),
        branch: String::new(),
        commit_id: "abc".to_owned(),
        trigger: Trigger::Session,
    }
}

fn plan(definition: &Definition, input: &PlanInput) -> Result<Plan, NotPlanned> {
    super::plan(definition, input, &|| Arc::new(|| false))
}

/// The database still contains definitions that were saved before macros had a limit.
#[test]
fn a_condition_at_its_limit_fails_its_stage() {
    let mut definition = parse(SHOP).unwrap();
    definition.variables = (0..100).map(|n| (format!("V{n}"), String::new())).collect();
    let condition = "variables.all(a,variables.all(b,variables.all(c,true)))";
    definition.stages[0].condition = Some(condition.to_owned());
    let found = plan(&definition, &input(Purpose::Session, Some("pr-1"))).unwrap();
    assert_eq!(found.stages[0].planned_outcome, Some((StageStatus::Failed, Reason::ConditionLimit)));
    let detail = found.stages[0].detail.as_deref();
    assert_eq!(detail, Some("`if` of the stage `build` takes more than 100000 steps to evaluate"));
    // The next condition is not evaluated, because many slow ones together would take too long.
    assert_eq!(found.stages[1].planned_outcome, found.stages[0].planned_outcome);
    assert_eq!(found.stages[1].detail, found.stages[0].detail);
}

#[test]
fn a_condition_that_times_out_twice_does_not_fail_its_stage() {
    let starts = AtomicUsize::new(0);
    let start = || -> Expired {
        let first = starts.fetch_add(1, Ordering::Relaxed) < 2;
        Arc::new(move || first)
    };
    let found = super::plan(&parse(SHOP).unwrap(), &input(Purpose::Session, Some("pr-1")), &start).unwrap();
    assert_eq!(found.stages[1].planned_outcome, None);
    let never = || -> Expired { Arc::new(|| true) };
    let found = super::plan(&parse(SHOP).unwrap(), &input(Purpose::Session, Some("pr-1")), &never).unwrap();
    assert_eq!(found.stages[1].planned_outcome, Some((StageStatus::Failed, Reason::ConditionLimit)));
}

#[test]
fn the_purpose_selects_the_stages() {
    let definition = parse(SHOP).unwrap();
    for (purpose, environment, expected) in [
        (Purpose::Pipeline, None, vec!["build", "deploy", "share"]),
        (Purpose::Session, Some("pr-1"), vec!["build", "deploy", "share"]),
        (Purpose::Teardown, Some("pr-1"), vec!["teardown"]),
    ] {
        let plan = plan(&definition, &input(purpose, environment)).unwrap();
        assert_eq!(plan.stages.iter().map(|stage| stage.key.as_str()).collect::<Vec<_>>(), expected);
    }
    assert_eq!(plan(&definition, &input(Purpose::Session, Some("qa"))), Err(NotPlanned));
}

#[test]
fn outcomes_that_are_certain_are_planned() {
    let definition = parse(SHOP).unwrap();
    let outcomes = |environment| {
        let purpose = if environment == Some("pr-1") { Purpose::Session } else { Purpose::Pipeline };
        let plan = plan(&definition, &input(purpose, environment)).unwrap();
        plan.stages.into_iter().map(|stage| stage.planned_outcome).collect::<Vec<_>>()
    };
    let unsupported = Some((StageStatus::Errored, Reason::Unsupported));
    let skipped = Some((StageStatus::Skipped, Reason::ConditionFalse));
    assert_eq!(outcomes(Some("pr-1")), [None, None, unsupported]);
    assert_eq!(outcomes(None), [None, skipped, unsupported]);
}

/// Without a repository, a branch that was named does not count, and `branch == "main"` is false for a deployment of `main`.
#[test]
fn a_condition_about_an_unknown_branch_explains_why_it_is_false() {
    let condition = r#"branch == "main""#;
    let mut definition = parse(SHOP).unwrap();
    let mut planned = |condition: &str, branch: &str| {
        definition.stages[0].condition = Some(condition.to_owned());
        let input = PlanInput { branch: branch.to_owned(), ..input(Purpose::Pipeline, None) };
        let stage = plan(&definition, &input).unwrap().stages.remove(0);
        let (status, reason) = stage.planned_outcome.unwrap();
        assert_eq!(status, StageStatus::Skipped);
        (reason, stage.detail.unwrap())
    };
    let unknown = "`branch == \"main\"` is false: the branch is not known, because the deployment names none, or the pipeline \
                   has no repository to look it up in";
    assert_eq!(planned(condition, ""), (Reason::BranchUnknown, unknown.to_owned()));
    for (condition, branch) in
        [(condition, "fix-1"), ("pipeline == 'other'", ""), ("pipeline == 'branch'", "")]
    {
        let expected = (Reason::ConditionFalse, format!("`{condition}` is false"));
        assert_eq!(planned(condition, branch), expected);
    }
}

#[test]
fn a_stage_for_sessions_is_skipped_by_a_deployment_of_the_pipeline() {
    let definition = parse(
        "ephemeralEnvironments: { qa: {} }
stages:
  build: { steps: [{ image: a, run: b }] }
  seed: { needs: [build], only: ephemeral, steps: [{ image: a, run: b }] }
  deploy: { needs: [seed], steps: [{ image: a, run: b }] }
",
    )
    .unwrap();
    let whole = plan(&definition, &input(Purpose::Pipeline, None)).unwrap();
    let skipped = Some((StageStatus::Skipped, Reason::OnlyEphemeral));
    assert_eq!(
        whole.stages.iter().map(|stage| stage.planned_outcome).collect::<Vec<_>>(),
        [None, skipped, None]
    );
    assert_eq!(whole.stages[2].needs, ["build"], "the needs of the skipped stage replace it");
    let session = plan(&definition, &input(Purpose::Session, Some("qa"))).unwrap();
    assert!(session.stages.iter().all(|stage| stage.planned_outcome.is_none()));
    assert_eq!(session.stages[2].needs, ["seed"]);
}

#[test]
fn variables_of_a_lasting_environment_are_between_those_of_the_file_and_of_the_stage() {
    let definition = parse(
        "variables: { A: file, B: file, C: file }
environments: { production: { variables: { B: environment, C: environment } }, staging: { variables: { B: staging } } }
stages:
  build: { steps: [{ image: a, run: b }] }
  ship:
    environment: production
    variables: { C: stage }
    if: variables.B == 'environment'
    steps: [{ image: a, run: b }]
",
    )
    .unwrap();
    let values = |key: &str| -> Vec<String> {
        variables_of(&definition, None, definition.stage(key).unwrap()).into_values().collect()
    };
    assert_eq!(values("build"), ["file", "file", "file"]);
    assert_eq!(values("ship"), ["file", "environment", "stage"]);
    let found = plan(&definition, &input(Purpose::Pipeline, None)).unwrap();
    assert_eq!(found.stages[1].planned_outcome, None, "conditions can use them");
}

#[test]
fn the_largest_retry_of_the_steps_applies() {
    let plan = plan(&parse(SHOP).unwrap(), &input(Purpose::Pipeline, None)).unwrap();
    let retries: Vec<_> =
        plan.stages.iter().map(|stage| (stage.max_attempts, stage.backoff_seconds)).collect();
    assert_eq!(retries, [(4, 5), (1, 0), (1, 0)]);
}
