//! Checks pipeline definitions on the blocking thread pool, a few concurrently and one per organization: they
//! are untrusted text, and parsing them takes CPU time.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use greenroom_api_types::pipeline::DefinitionWarning;
use greenroom_api_types::problem::FieldProblem;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::approval::{Excluded, Person, Requirement, prospect};
use greenroom_domain::definition::{self, Definition, Diagnostic, Parsed, Stage, StagePlace, Warning};
use greenroom_domain::id::OrganizationId;
use greenroom_domain::provenance::{Pool, takes_from};
use greenroom_domain::runner_pool::Restriction;
use greenroom_domain::step::definition_digest;
use greenroom_store::Store;
use greenroom_store::compute_limit::ComputeLimiter;
use greenroom_store::pipeline::{CheckedDefinition, PipelineName};
use serde_json::Value;

use crate::failure::{Code, Failure};
use crate::step_registry::lock::{find_steps, lock_steps};

/// How many definitions this process checks concurrently.
const MAX_CONCURRENT_CHECKS: usize = 2;
/// How long a request waits for its turn.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(2);

static COMPUTE_LIMIT: ComputeLimiter = ComputeLimiter::new(MAX_CONCURRENT_CHECKS);

/// A valid definition: as it is stored, and parsed.
pub struct Checked {
    pub stored: CheckedDefinition,
    pub definition: Definition,
    pub warnings: Vec<DefinitionWarning>,
    /// Where the stages are, by their keys.
    pub stage_places: BTreeMap<String, StagePlace>,
}

/// Checks a definition, and resolves its references to steps of registries. Returns the parsed definition, or its errors.
#[boxed_futures]
pub async fn validate(
    store: &Store,
    organization: OrganizationId,
    source: String,
) -> Result<Result<Checked, Vec<FieldProblem>>, Failure> {
    let mut result = check(store, organization, source).await?;
    if let Ok(checked) = &mut result
        && checked.definition.stages.iter().any(|stage| !stage.needs.is_empty())
    {
        let restricted = store.restricted_pools(organization).await?;
        checked.warnings.extend(refused_inputs(checked, &restricted));
        checked.warnings.sort_by_key(|warning| (warning.line, warning.column));
    }
    Ok(result)
}

async fn check(
    store: &Store,
    organization: OrganizationId,
    source: String,
) -> Result<Result<Checked, Vec<FieldProblem>>, Failure> {
    let parse = move || (definition::parse_with_warnings(&source), source);
    let (parsed, source) = in_turn(organization, parse).await?;
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(wrong) => return Ok(Err(wrong.into_iter().map(field_problem).collect())),
    };
    if parsed.definition.step_references().is_empty() {
        return checked(source, parsed).map(Ok);
    }
    let found = find_steps(store, organization, &parsed.definition).await?;
    let lock = move || match lock_steps(found, &source, parsed.definition) {
        Ok(definition) => checked(source, Parsed { definition, ..parsed }).map(Ok),
        Err(wrong) => Ok(Err(wrong.into_iter().map(field_problem).collect())),
    };
    in_turn(organization, lock).await?
}

/// Checks the definition of an existing pipeline that is to be saved. The text that is saved already keeps its lock, whatever
/// became of the registries since then.
#[boxed_futures]
pub async fn for_update(
    store: &Store,
    organization: OrganizationId,
    name: &PipelineName,
    source: &str,
) -> Result<Checked, Failure> {
    let pipeline = store.pipeline(organization, name).await?.ok_or_else(Failure::not_found)?;
    let version = store.pipeline_version(organization, pipeline.id, pipeline.definition_version).await?;
    if version.is_none_or(|version| version.source != source) {
        return for_saving(store, organization, source).await;
    }
    let current = store.system_transaction(organization).await?.current_definition(&pipeline).await?;
    let text = source.to_owned();
    let parse = move || (definition::parse_with_warnings(&text), text);
    match in_turn(organization, parse).await? {
        (Ok(parsed), text) if parsed.definition.step_references().len() == current.locked_steps.len() => {
            let definition = Definition { locked_steps: current.locked_steps.clone(), ..parsed.definition };
            checked(text, Parsed { definition, ..parsed })
        }
        _ => for_saving(store, organization, source).await,
    }
}

/// Runs work that takes CPU time when it is the organization's turn.
async fn in_turn<R: Send + 'static>(
    organization: OrganizationId,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Failure> {
    let turn =
        tokio::time::timeout(QUEUE_TIMEOUT, COMPUTE_LIMIT.acquire(organization)).await.map_err(|_| {
            let detail =
                "Too many definitions of this organization are being checked. Try again in a moment.";
            Failure::new(Code::Overloaded, detail)
        })?;
    let working = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    working.await.map_err(Failure::internal)
}

/// Checks a definition that is to be saved. Fails if it has errors.
#[boxed_futures]
pub async fn for_saving(
    store: &Store,
    organization: OrganizationId,
    source: &str,
) -> Result<Checked, Failure> {
    validate(store, organization, source.to_owned()).await?.map_err(|errors| {
        let place = |error: &FieldProblem| {
            format!(
                "line {}, column {}: {}",
                error.line.unwrap_or(0),
                error.column.unwrap_or(0),
                error.detail
            )
        };
        let detail = match errors.as_slice() {
            [] => "The definition could not be read.".to_owned(),
            [one] => format!("In {}", place(one)),
            [first, ..] => format!("{} things are wrong; the first is in {}", errors.len(), place(first)),
        };
        Failure { errors, ..Failure::new(Code::InvalidDefinition, detail) }
    })
}

fn checked(source: String, parsed: Parsed) -> Result<Checked, Failure> {
    let Parsed { definition, warnings, stage_places } = parsed;
    let lock = definition.step_lock();
    let digest = definition_digest(&source, &lock);
    let json: Value = serde_json::to_value(&definition).map_err(Failure::internal)?;
    let stored = CheckedDefinition { source, definition: json, lock, digest };
    let warnings = warnings.into_iter().map(wire).collect();
    Ok(Checked { stored, definition, warnings, stage_places })
}

/// Returns a warning for each approval that these members could not give, even if none of them were behind the deployment.
pub fn unsatisfiable_approvals(checked: &Checked, members: &[Person]) -> Vec<DefinitionWarning> {
    let warning = |stage: &Stage| {
        let requirement = Requirement::of(&checked.definition, stage)?;
        let prospect = prospect(&requirement.rules, &Excluded::default(), members);
        let place = checked.stage_places.get(&stage.key).filter(|_| !prospect.is_satisfiable)?;
        Some(DefinitionWarning {
            code: "approval_unsatisfiable".to_owned(),
            message: format!(
                "the stage `{}` needs {} approvals, and the rules name {} members who could give them: add members to the groups, \
                 or change the rules",
                stage.key, prospect.needed, prospect.eligible
            ),
            path: place.path.clone(),
            line: place.line,
            column: place.column,
        })
    };
    checked.definition.stages.iter().filter_map(warning).collect()
}

/// Returns a warning for each stage that would refuse an artifact, as these pools are restricted now.
fn refused_inputs(checked: &Checked, restricted: &HashMap<String, Restriction>) -> Vec<DefinitionWarning> {
    let unrestricted = Restriction::default();
    let pool_of = |stage| {
        let name = checked.definition.pool(stage);
        Pool { name, restriction: restricted.get(name).unwrap_or(&unrestricted) }
    };
    let mut warnings = Vec::new();
    for stage in &checked.definition.stages {
        let makers = stage.needs.iter().filter_map(|key| checked.definition.stage(key));
        for maker in makers.filter(|maker| !maker.artifacts.is_empty()) {
            let (own, of_maker) = (pool_of(stage), pool_of(maker));
            if takes_from(stage, own, &maker.key, of_maker) {
                continue;
            }
            let Some(place) = checked.stage_places.get(&stage.key) else { continue };
            warnings.push(DefinitionWarning {
                code: "input_refused".to_owned(),
                message: format!(
                    "the stage `{}` will fail: it gets the artifact of `{1}`, whose pool `{2}` takes jobs that the pool `{3}` does \
                     not take. Run `{1}` in a pool that is restricted as much, or accept what it leaves by `acceptFrom: [{1}]`",
                    stage.key, maker.key, of_maker.name, own.name
                ),
                path: place.path.clone(),
                line: place.line,
                column: place.column,
            });
        }
    }
    warnings
}

fn field_problem(diagnostic: Diagnostic) -> FieldProblem {
    FieldProblem {
        pointer: diagnostic.pointer,
        detail: diagnostic.message,
        line: Some(diagnostic.line),
        column: Some(diagnostic.column),
        expected: diagnostic.expected,
        suggestion: diagnostic.suggestion,
    }
}

fn wire(warning: Warning) -> DefinitionWarning {
    DefinitionWarning {
        code: warning.code.to_owned(),
        message: warning.message,
        path: warning.path,
        line: warning.line,
        column: warning.column,
    }
}
