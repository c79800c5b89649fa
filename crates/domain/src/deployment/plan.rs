//! The plan of a deployment, made once when it starts: which stages, in which order, and which outcomes are
//! certain before anything runs.

use std::collections::{BTreeMap, HashSet};

use super::status::{Reason, StageStatus};
use super::trigger::Trigger;
use crate::approval::Requirement;
use crate::definition::{
    ConditionContext, ConditionError, Definition, Expired, Limit, Only, Stage, Step, StepWork,
    evaluate_condition, uses_branch,
};

/// The timeout of a stage that does not define one.
const DEFAULT_TIMEOUT_SECONDS: u64 = 3_600;
/// A condition that ran out of time is evaluated again: its thread may not have been scheduled in the
/// meantime.
const MAX_EVALUATIONS: usize = 3;

/// What a deployment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// All stages of the pipeline except those that clean up after sessions. Stages with `only: ephemeral` are
    /// skipped.
    Pipeline,
    /// The stages that the definition lists for an ephemeral environment.
    Session,
    /// The stages that clean up after a session.
    Teardown,
}

crate::text_enum::text_enum!(Purpose { Pipeline = "pipeline", Session = "session", Teardown = "teardown" });

/// What is deployed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanInput {
    pub purpose: Purpose,
    /// The ephemeral environment.
    pub environment: Option<String>,
    /// The pipeline's slug.
    pub pipeline: String,
    pub branch: String,
    pub commit_id: String,
    pub trigger: Trigger,
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
    /// Set if the stage won't run in any case.
    pub planned_outcome: Option<(StageStatus, Reason)>,
    /// An explanation of `planned_outcome`.
    pub detail: Option<String>,
    pub needs_approval: bool,
    /// The lasting environment that it deploys to.
    pub environment: Option<String>,
    pub timeout_seconds: u64,
    pub max_attempts: u32,
    pub backoff_seconds: u64,
}

/// The definition no longer contains the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the definition has no such environment")]
pub struct NotPlanned;

/// Evaluates the conditions of the stages, each within the time that `start` measures.
pub fn plan(
    definition: &Definition,
    input: &PlanInput,
    start: &dyn Fn() -> Expired,
) -> Result<Plan, NotPlanned> {
    let keys = stage_keys(definition, input.purpose, input.environment.as_deref())?;
    let stages = definition.stages.iter().filter(|stage| keys.contains(&stage.key.as_str()));
    let mut conditions = Conditions { start, exceeded: None };
    Ok(Plan {
        stages: stages.map(|stage| plan_stage(definition, input, stage, &keys, &mut conditions)).collect(),
    })
}

/// Returns the stages of a deployment.
pub fn stage_keys<'a>(
    definition: &'a Definition,
    purpose: Purpose,
    environment: Option<&str>,
) -> Result<Vec<&'a str>, NotPlanned> {
    let settings = environment.and_then(|name| definition.ephemeral_settings(name));
    match (purpose, settings) {
        (Purpose::Pipeline, _) => {
            Ok(definition.deployment_stages().map(|stage| stage.key.as_str()).collect())
        }
        (Purpose::Session, Some(settings)) => Ok(settings.stages.iter().map(String::as_str).collect()),
        (Purpose::Teardown, Some(settings)) => Ok(settings.on_release.iter().map(String::as_str).collect()),
        (_, None) => Err(NotPlanned),
    }
}

/// Evaluates conditions until one exceeds its limit. The remaining ones are not evaluated, which bounds the
/// time that a plan takes.
struct Conditions<'a> {
    start: &'a dyn Fn() -> Expired,
    /// The explanation for the condition that exceeded its limit.
    exceeded: Option<String>,
}

fn plan_stage(
    definition: &Definition,
    input: &PlanInput,
    stage: &Stage,
    keys: &[&str],
    conditions: &mut Conditions<'_>,
) -> PlannedStage {
    let (planned_outcome, detail) = match planned_outcome(definition, input, stage, conditions) {
        Some((status, reason, detail)) => (Some((status, reason)), Some(detail)),
        None => (None, None),
    };
    let retries = || stage.steps.iter().filter_map(|step| step.retry);
    PlannedStage {
        key: stage.key.clone(),
        name: stage.name.clone().unwrap_or_else(|| stage.key.clone()),
        // Needs that are not part of this deployment are ignored.
        needs: needs(definition, input, stage)
            .into_iter()
            .filter(|key| keys.contains(&key.as_str()))
            .collect(),
        pool: definition.pool(stage).to_owned(),
        planned_outcome,
        detail,
        needs_approval: Requirement::of(definition, stage).is_some(),
        environment: stage.environment.clone(),
        timeout_seconds: stage.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS),
        max_attempts: retries().map(|retry| retry.attempts).max().unwrap_or(1),
        backoff_seconds: retries().map(|retry| retry.backoff_seconds).max().unwrap_or_default(),
    }
}

fn planned_outcome(
    definition: &Definition,
    input: &PlanInput,
    stage: &Stage,
    conditions: &mut Conditions<'_>,
) -> Option<(StageStatus, Reason, String)> {
    if is_for_sessions_only(input, stage) {
        let detail = "`only: ephemeral`: a deployment of the whole pipeline skips it".to_owned();
        return Some((StageStatus::Skipped, Reason::OnlyEphemeral, detail));
    }
    if let Some(expression) = &stage.condition {
        if let Some(detail) = &conditions.exceeded {
            return Some((StageStatus::Failed, Reason::ConditionLimit, detail.clone()));
        }
        match evaluate(expression, &condition_context(definition, input, stage), conditions.start) {
            Ok(true) => {}
            Ok(false) => {
                let (reason, detail) = explain_false(expression, &input.branch);
                return Some((StageStatus::Skipped, reason, detail));
            }
            Err(limit @ ConditionError::Limit(_)) => {
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
    let unsupported = stage.steps.iter().find_map(|step| unlocked(definition, step))?;
    Some((StageStatus::Errored, Reason::Unsupported, unsupported))
}

/// Explains a condition that is false. Without a branch, one about the branch is false for a reason that its text does not show.
fn explain_false(expression: &str, branch: &str) -> (Reason, String) {
    if branch.is_empty() && uses_branch(expression) {
        let detail = format!(
            "`{expression}` is false: the branch is not known, because the deployment names none, or the pipeline has no \
             repository to look it up in"
        );
        return (Reason::BranchUnknown, detail);
    }
    (Reason::ConditionFalse, format!("`{expression}` is false"))
}

fn is_for_sessions_only(input: &PlanInput, stage: &Stage) -> bool {
    input.purpose == Purpose::Pipeline && stage.only == Some(Only::Ephemeral)
}

/// Returns the needs of a stage. A stage that `only` skips is replaced by its own needs, so that it blocks no
/// other stage.
fn needs(definition: &Definition, input: &PlanInput, stage: &Stage) -> Vec<String> {
    let mut needs: Vec<String> = Vec::new();
    let mut open: Vec<&str> = stage.needs.iter().rev().map(String::as_str).collect();
    let mut seen = HashSet::new();
    while let Some(key) = open.pop() {
        if !seen.insert(key) {
            continue;
        }
        match definition.stage(key).filter(|needed| is_for_sessions_only(input, needed)) {
            Some(skipped) => open.extend(skipped.needs.iter().rev().map(String::as_str)),
            None => needs.push(key.to_owned()),
        }
    }
    needs
}

fn evaluate(
    expression: &str,
    context: &ConditionContext,
    start: &dyn Fn() -> Expired,
) -> Result<bool, ConditionError> {
    let mut result = evaluate_condition(expression, context, start);
    for _ in 1..MAX_EVALUATIONS {
        if result != Err(ConditionError::Limit(Limit::Time)) {
            break;
        }
        result = evaluate_condition(expression, context, start);
    }
    result
}

/// Returns why a step can't run: its definition was saved by a server that did not lock steps of registries yet.
fn unlocked(definition: &Definition, step: &Step) -> Option<String> {
    let StepWork::Registry { uses, .. } = &step.work else { return None };
    definition.locked_step(uses).is_none().then(|| {
        format!(
            "`uses: {uses}`: the definition was saved before steps of registries could be run; save it again"
        )
    })
}

fn condition_context(definition: &Definition, input: &PlanInput, stage: &Stage) -> ConditionContext {
    ConditionContext {
        branch: input.branch.clone(),
        commit_id: input.commit_id.clone(),
        environment: input.environment.as_ref().or(stage.environment.as_ref()).cloned().unwrap_or_default(),
        pipeline: input.pipeline.clone(),
        trigger: input.trigger.to_string(),
        variables: variables_of(definition, input.environment.as_deref(), stage),
    }
}

/// Returns the variables of a stage: those of the stage override those of the environment, which override
/// those of the file.
pub fn variables_of(
    definition: &Definition,
    environment: Option<&str>,
    stage: &Stage,
) -> BTreeMap<String, String> {
    let mut variables = definition.variables.clone();
    let settings = environment.and_then(|name| definition.ephemeral_settings(name));
    variables.extend(settings.into_iter().flat_map(|settings| settings.variables.clone()));
    // A stage that deploys to a lasting environment never runs in an ephemeral one.
    let lasting = stage.environment.as_deref().and_then(|name| definition.environment(name));
    variables.extend(lasting.into_iter().flat_map(|lasting| lasting.variables.clone()));
    variables.extend(stage.variables.clone());
    variables
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
