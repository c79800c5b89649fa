//! What a deployment will do, decided once, when it begins: which stages, in which order, and what is clear of each
//! before anything runs.

use std::collections::BTreeMap;

use super::status::{Reason, StageStatus};
use crate::definition::{Circumstances, Definition, Stage, Step, StepWork, holds};

/// How long a stage may run that does not say so itself.
const DEFAULT_TIMEOUT_SECONDS: u64 = 3_600;

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
#[derive(Clone, Debug)]
pub struct Scene<'a> {
    pub purpose: Purpose,
    /// The ephemeral environment.
    pub environment: Option<&'a str>,
    /// The pipeline's slug.
    pub pipeline: &'a str,
    pub branch: &'a str,
    pub commit_id: &'a str,
    pub trigger: &'a str,
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

pub fn plan(definition: &Definition, scene: &Scene<'_>) -> Result<Plan, NotPlanned> {
    let settings = scene.environment.and_then(|name| definition.ephemeral_settings(name));
    let keys: Vec<&str> = match (scene.purpose, settings) {
        (Purpose::Pipeline, _) => definition.deployment_stages().map(|stage| stage.key.as_str()).collect(),
        (Purpose::Session, Some(settings)) => settings.stages.iter().map(String::as_str).collect(),
        (Purpose::Teardown, Some(settings)) => settings.on_release.iter().map(String::as_str).collect(),
        (_, None) => return Err(NotPlanned),
    };
    let stages = definition.stages.iter().filter(|stage| keys.contains(&stage.key.as_str()));
    Ok(Plan { stages: stages.map(|stage| planned(definition, scene, stage, &keys)).collect() })
}

fn planned(definition: &Definition, scene: &Scene<'_>, stage: &Stage, keys: &[&str]) -> PlannedStage {
    let (verdict, detail) = match verdict(definition, scene, stage) {
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
        needs: stage.needs.iter().filter(|key| keys.contains(&key.as_str())).cloned().collect(),
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
    scene: &Scene<'_>,
    stage: &Stage,
) -> Option<(StageStatus, Reason, String)> {
    if let Some(expression) = &stage.condition {
        match holds(expression, &circumstances(definition, scene, stage)) {
            Ok(true) => {}
            Ok(false) => {
                return Some((
                    StageStatus::Skipped,
                    Reason::ConditionFalse,
                    format!("`{expression}` is false"),
                ));
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

/// What no runner could carry out yet.
fn unsupported(step: &Step) -> Option<String> {
    if let StepWork::Registry { uses, .. } = &step.work {
        return Some(format!("`uses: {uses}`: steps of registries can't be run yet; use `image` and `run`"));
    }
    let secret = step.secrets.values().next()?;
    Some(format!("the secret `{secret}` can't be had: this installation keeps no secrets yet"))
}

fn circumstances(definition: &Definition, scene: &Scene<'_>, stage: &Stage) -> Circumstances {
    Circumstances {
        branch: scene.branch.to_owned(),
        commit_id: scene.commit_id.to_owned(),
        environment: scene.environment.or(stage.environment.as_deref()).unwrap_or_default().to_owned(),
        pipeline: scene.pipeline.to_owned(),
        trigger: scene.trigger.to_owned(),
        variables: variables_of(definition, scene.environment, stage),
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

    fn scene(purpose: Purpose, environment: Option<&str>) -> Scene<'_> {
        Scene { purpose, environment, pipeline: "shop", branch: "", commit_id: "abc", trigger: "session" }
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
    fn retries_are_the_steps() {
        let plan = plan(&parse(SHOP).unwrap(), &scene(Purpose::Pipeline, None)).unwrap();
        let retries: Vec<_> =
            plan.stages.iter().map(|stage| (stage.attempts, stage.backoff_seconds)).collect();
        assert_eq!(retries, [(4, 5), (1, 0), (1, 0)]);
    }
}
