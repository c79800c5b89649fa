//! What a deployment will do, decided once, when it begins: which stages, in which order, and what is clear of each
//! before anything runs.

use std::collections::{BTreeMap, HashSet};

use super::status::{Reason, StageStatus};
use crate::definition::{
    Circumstances, Definition, Expired, Limit, NoValue, Only, Stage, Step, StepWork, holds,
};

/// How long a stage may run that does not say so itself.
const DEFAULT_TIMEOUT_SECONDS: u64 = 3_600;
/// A condition that ran out of time is evaluated again: its thread may have had no processor in the meantime.
const EVALUATIONS: usize = 3;

/// What a deployment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// All stages of the pipeline.
    Pipeline,
    /// The stages of an ephemeral environment.
    Session,
    /// The stages that clean up after a session.
    Teardown,
}

crate::word::words!(Purpose { Pipeline = "pipeline", Session = "session", Teardown = "teardown" });

/// What is deployed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    pub purpose: Purpose,
    /// The ephemeral environment.
    pub environment: Option<String>,
    /// The pipeline's slug.
    pub pipeline: String,
    pub branch: String,
    pub commit_id: String,
    pub trigger: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In the order of the file.
    pub stages: Vec<PlannedStage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStage {
    pub key: String,
    pub name: String,
    pub needs: Vec<String>,
    /// The pool whose runners take it.
    pub pool: String,
    /// It won't be run, whatever the others do, and how that is told.
    pub verdict: Option<(StageStatus, Reason)>,
    /// Why, in words.
    pub detail: Option<String>,
    pub gated: bool,
    pub timeout_seconds: u64,
    pub attempts: u32,
    pub backoff_seconds: u64,
}

/// The environment isn't in the definition any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the definition has no such environment")]
pub struct NotPlanned;

/// Evaluates the conditions of the stages, each within the time that `start` measures.
pub fn plan(definition: &Definition, scene: &Scene, start: &dyn Fn() -> Expired) -> Result<Plan, NotPlanned> {
    let settings = scene.environment.as_deref().and_then(|name| definition.ephemeral_settings(name));
    let keys: Vec<&str> = match (scene.purpose, settings) {
        (Purpose::Pipeline, _) => definition.deployment_stages().map(|stage| stage.key.as_str()).collect(),
        (Purpose::Session, Some(settings)) => settings.stages.iter().map(String::as_str).collect(),
        (Purpose::Teardown, Some(settings)) => settings.on_release.iter().map(String::as_str).collect(),
        (_, None) => return Err(NotPlanned),
    };
    let stages = definition.stages.iter().filter(|stage| keys.contains(&stage.key.as_str()));
    let mut conditions = Conditions { start, exceeded: None };
    Ok(Plan {
        stages: stages.map(|stage| planned(definition, scene, stage, &keys, &mut conditions)).collect(),
    })
}

/// Evaluates conditions until one exceeds its limit. The others are not evaluated any more, so that a plan takes no longer
/// than its conditions within the limit and that one.
struct Conditions<'a> {
    start: &'a dyn Fn() -> Expired,
    /// Which one did.
    exceeded: Option<String>,
}

fn planned(
    definition: &Definition,
    scene: &Scene,
    stage: &Stage,
    keys: &[&str],
    conditions: &mut Conditions<'_>,
) -> PlannedStage {
    let (verdict, detail) = match verdict(definition, scene, stage, conditions) {
        Some((status, reason, detail)) => (Some((status, reason)), Some(detail)),
        None => (None, None),
    };
    let retries = || stage.steps.iter().filter_map(|step| step.retry);
    let gated = stage.approval.is_some()
        || stage
            .environment
            .as_deref()
            .and_then(|name| definition.environment(name))
            .is_some_and(|e| e.approval.is_some());
    PlannedStage {
        key: stage.key.clone(),
        name: stage.name.clone().unwrap_or_else(|| stage.key.clone()),
        // Of its needs, those that are no part of this deployment are not waited for.
        needs: needs(definition, scene, stage)
            .into_iter()
            .filter(|key| keys.contains(&key.as_str()))
            .collect(),
        pool: definition.pool(stage).to_owned(),
        verdict,
        detail,
        gated,
        timeout_seconds: stage.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS),
        attempts: retries().map(|retry| retry.attempts).max().unwrap_or(1),
        backoff_seconds: retries().map(|retry| retry.backoff_seconds).max().unwrap_or_default(),
    }
}

fn verdict(
    definition: &Definition,
    scene: &Scene,
    stage: &Stage,
    conditions: &mut Conditions<'_>,
) -> Option<(StageStatus, Reason, String)> {
    if is_for_sessions_only(scene, stage) {
        let detail = "`only: ephemeral`: a deployment of the whole pipeline skips it".to_owned();
        return Some((StageStatus::Skipped, Reason::OnlyEphemeral, detail));
    }
    if let Some(expression) = &stage.condition {
        if let Some(detail) = &conditions.exceeded {
            return Some((StageStatus::Failed, Reason::ConditionLimit, detail.clone()));
        }
        match evaluated(expression, &circumstances(definition, scene, stage), conditions.start) {
            Ok(true) => {}
            Ok(false) => {
                return Some((
                    StageStatus::Skipped,
                    Reason::ConditionFalse,
                    format!("`{expression}` is false"),
                ));
            }
            Err(limit @ NoValue::Limit(_)) => {
                let detail = format!("`if` of the stage `{}` {limit}", stage.key);
                conditions.exceeded = Some(detail.clone());
                return Some((StageStatus::Failed, Reason::ConditionLimit, detail));
            }
            Err(problem) => {
                let detail = format!("`if` {problem}");
                return Some((StageStatus::Errored, Reason::InvalidDefinition, detail));
            }
        }
    }
    let unsupported = stage.steps.iter().find_map(unsupported)?;
    Some((StageStatus::Errored, Reason::Unsupported, unsupported))
}

fn is_for_sessions_only(scene: &Scene, stage: &Stage) -> bool {
    scene.purpose == Purpose::Pipeline && stage.only == Some(Only::Ephemeral)
}

/// A stage that this deployment skips by `only` holds nobody up: who needs it waits for what it needs.
fn needs(definition: &Definition, scene: &Scene, stage: &Stage) -> Vec<String> {
    let mut needs: Vec<String> = Vec::new();
    let mut open: Vec<&str> = stage.needs.iter().rev().map(String::as_str).collect();
    let mut seen = HashSet::new();
    while let Some(key) = open.pop() {
        if !seen.insert(key) {
            continue;
        }
        match definition.stage(key).filter(|needed| is_for_sessions_only(scene, needed)) {
            Some(skipped) => open.extend(skipped.needs.iter().rev().map(String::as_str)),
            None => needs.push(key.to_owned()),
        }
    }
    needs
}

fn evaluated(
    expression: &str,
    circumstances: &Circumstances,
    start: &dyn Fn() -> Expired,
) -> Result<bool, NoValue> {
    let mut result = holds(expression, circumstances, start);
    for _ in 1..EVALUATIONS {
        if result != Err(NoValue::Limit(Limit::Time)) {
            break;
        }
        result = holds(expression, circumstances, start);
    }
    result
}

/// What no runner could carry out yet.
fn unsupported(step: &Step) -> Option<String> {
    if let StepWork::Registry { uses, .. } = &step.work {
        return Some(format!("`uses: {uses}`: steps of registries can't be run yet; use `image` and `run`"));
    }
    let secret = step.secrets.values().next()?;
    Some(format!("the secret `{secret}` can't be had: this installation keeps no secrets yet"))
}

fn circumstances(definition: &Definition, scene: &Scene, stage: &Stage) -> Circumstances {
    Circumstances {
        branch: scene.branch.clone(),
        commit_id: scene.commit_id.clone(),
        environment: scene.environment.as_ref().or(stage.environment.as_ref()).cloned().unwrap_or_default(),
        pipeline: scene.pipeline.clone(),
        trigger: scene.trigger.clone(),
        variables: variables_of(definition, scene.environment.as_deref(), stage),
    }
}

/// The variables that hold for a stage: of two, what is nearest to it wins.
pub fn variables_of(
    definition: &Definition,
    environment: Option<&str>,
    stage: &Stage,
) -> BTreeMap<String, String> {
    let mut variables = definition.variables.clone();
    let settings = environment.and_then(|name| definition.ephemeral_settings(name));
    variables.extend(settings.into_iter().flat_map(|settings| settings.variables.clone()));
    variables.extend(stage.variables.clone());
    variables
}

#[cfg(test)]
mod tests {
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

    fn scene(purpose: Purpose, environment: Option<&str>) -> Scene {
        Scene {
            purpose,
            environment: environment.map(str::to_owned),
            pipeline: "shop".to_owned(),
            branch: String::new(),
            commit_id: "abc".to_owned(),
            trigger: "session".to_owned(),
        }
    }

    fn plan(definition: &Definition, scene: &Scene) -> Result<Plan, NotPlanned> {
        super::plan(definition, scene, &|| Arc::new(|| false))
    }

    /// Definitions that were saved before macros had a limit are still there.
    #[test]
    fn a_condition_at_its_limit_fails_its_stage() {
        let mut definition = parse(SHOP).unwrap();
        definition.variables = (0..100).map(|n| (format!("V{n}"), String::new())).collect();
        let condition = "variables.all(a,variables.all(b,variables.all(c,true)))";
        definition.stages[0].condition = Some(condition.to_owned());
        let found = plan(&definition, &scene(Purpose::Session, Some("pr-1"))).unwrap();
        assert_eq!(found.stages[0].verdict, Some((StageStatus::Failed, Reason::ConditionLimit)));
        let detail = found.stages[0].detail.as_deref();
        assert_eq!(detail, Some("`if` of the stage `build` takes more than 100000 steps to evaluate"));
        // The next condition is not evaluated: many slow ones together would take too long.
        assert_eq!(found.stages[1].verdict, found.stages[0].verdict);
        assert_eq!(found.stages[1].detail, found.stages[0].detail);
    }

    #[test]
    fn a_thread_that_had_no_processor_once_does_not_fail_a_stage() {
        let starts = AtomicUsize::new(0);
        let start = || -> Expired {
            let first = starts.fetch_add(1, Ordering::Relaxed) < 2;
            Arc::new(move || first)
        };
        let found =
            super::plan(&parse(SHOP).unwrap(), &scene(Purpose::Session, Some("pr-1")), &start).unwrap();
        assert_eq!(found.stages[1].verdict, None);
        let never = || -> Expired { Arc::new(|| true) };
        let found =
            super::plan(&parse(SHOP).unwrap(), &scene(Purpose::Session, Some("pr-1")), &never).unwrap();
        assert_eq!(found.stages[1].verdict, Some((StageStatus::Failed, Reason::ConditionLimit)));
    }

    #[test]
    fn what_runs_depends_on_what_it_is_for() {
        let definition = parse(SHOP).unwrap();
        for (purpose, environment, expected) in [
            (Purpose::Pipeline, None, vec!["build", "deploy", "share"]),
            (Purpose::Session, Some("pr-1"), vec!["build", "deploy", "share"]),
            (Purpose::Teardown, Some("pr-1"), vec!["teardown"]),
        ] {
            let plan = plan(&definition, &scene(purpose, environment)).unwrap();
            assert_eq!(plan.stages.iter().map(|stage| stage.key.as_str()).collect::<Vec<_>>(), expected);
        }
        assert_eq!(plan(&definition, &scene(Purpose::Session, Some("qa"))), Err(NotPlanned));
    }

    #[test]
    fn what_is_clear_beforehand_is_said_beforehand() {
        let definition = parse(SHOP).unwrap();
        let verdicts = |environment| {
            let purpose = if environment == Some("pr-1") { Purpose::Session } else { Purpose::Pipeline };
            let plan = plan(&definition, &scene(purpose, environment)).unwrap();
            plan.stages.into_iter().map(|stage| stage.verdict).collect::<Vec<_>>()
        };
        let unsupported = Some((StageStatus::Errored, Reason::Unsupported));
        let skipped = Some((StageStatus::Skipped, Reason::ConditionFalse));
        assert_eq!(verdicts(Some("pr-1")), [None, None, unsupported]);
        assert_eq!(verdicts(None), [None, skipped, unsupported]);
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
        let whole = plan(&definition, &scene(Purpose::Pipeline, None)).unwrap();
        let skipped = Some((StageStatus::Skipped, Reason::OnlyEphemeral));
        assert_eq!(whole.stages.iter().map(|stage| stage.verdict).collect::<Vec<_>>(), [None, skipped, None]);
        assert_eq!(whole.stages[2].needs, ["build"], "what it needs waits for what the skipped one needs");
        let session = plan(&definition, &scene(Purpose::Session, Some("qa"))).unwrap();
        assert!(session.stages.iter().all(|stage| stage.verdict.is_none()));
        assert_eq!(session.stages[2].needs, ["seed"]);
    }

    #[test]
    fn retries_are_the_steps() {
        let plan = plan(&parse(SHOP).unwrap(), &scene(Purpose::Pipeline, None)).unwrap();
        let retries: Vec<_> =
            plan.stages.iter().map(|stage| (stage.attempts, stage.backoff_seconds)).collect();
        assert_eq!(retries, [(4, 5), (1, 0), (1, 0)]);
    }
}
