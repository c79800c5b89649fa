//! Runner pools: which jobs they accept, and which network their steps can reach.

use std::collections::BTreeSet;

use greenroom_api_types::problem::FieldProblem;
use greenroom_api_types::reference_warning::ReferenceWarning;
use greenroom_api_types::runner_pool::{RunnerPool, UpdateRunnerPool};
use greenroom_api_types::token::pipeline_list;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::Definition;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::PipelineId;
use greenroom_domain::runner_pool::{InvalidRestriction, Network, Restriction};
use greenroom_store::Command;
use greenroom_store::runner_pool::RunnerPoolRecord;
use serde_json::{Value, json};

use crate::failure::{Code, Failure};
use crate::known_names;
use crate::precondition::IfMatch;
use crate::token::pipeline_ids;

#[boxed_futures]
pub async fn update(
    command: &mut Command,
    name: &str,
    condition: &IfMatch,
    request: &UpdateRunnerPool,
) -> Result<RunnerPoolRecord, Failure> {
    let before = command.runner_pool_for_update(name).await?.ok_or_else(Failure::not_found)?;
    condition.check(before.revision)?;
    let network = request.network.map_or(before.network, Network::from);
    let restriction = restriction(&before.restriction, request)?;
    if network == before.network && restriction == before.restriction {
        return Ok(before);
    }
    if let Some(unknown) = command.unknown_pipeline(&restriction.pipelines).await? {
        return Err(Failure::field(
            "/pipelines",
            format!("{unknown} is not a pipeline of this organization"),
        ));
    }
    let revision = command.set_pool(before.id, network, &restriction).await?;
    command
        .record_event(NewEvent {
            event_type: EventType::RunnerPoolUpdated,
            subject: format!("runner-pools/{name}"),
            before: Some(event_payload(before.network, &before.restriction)),
            after: Some(event_payload(network, &restriction)),
            reason: None,
        })
        .await?;
    Ok(RunnerPoolRecord { network, restriction, revision, ..before })
}

/// Returns the environments of a pool's restriction that match nothing yet.
#[boxed_futures]
pub async fn warnings(
    command: &mut Command,
    pool: &RunnerPoolRecord,
) -> Result<Vec<ReferenceWarning>, Failure> {
    let Some(environments) = &pool.restriction.environments else { return Ok(Vec::new()) };
    let known = command.known_names(pool.restriction.pipelines.ids().unwrap_or_default()).await?;
    Ok(known_names::warnings(known.unknown_environments(environments), "environment", "/environments"))
}

/// Returns the new restriction. Fields that the request leaves out stay unchanged.
fn restriction(before: &Restriction, request: &UpdateRunnerPool) -> Result<Restriction, Failure> {
    let pipelines = match &request.pipelines {
        Some(given) => given.as_deref().map(pipeline_ids).transpose()?,
        None => before.pipelines.ids().map(<[PipelineId]>::to_vec),
    };
    let environments = match &request.environments {
        Some(given) => given.clone(),
        None => before.environments.clone(),
    };
    Restriction::new(pipelines, environments).map_err(|invalid| {
        let pointer = match invalid {
            InvalidRestriction::PipelineCount => "/pipelines",
            _ => "/environments",
        };
        Failure::field(pointer, invalid)
    })
}

/// Rejects a definition with a stage whose pool is restricted to other pipelines. Which environments a pool
/// accepts is checked when a job is queued, because the environment of a stage depends on the deployment.
#[boxed_futures]
pub async fn check_pools(
    command: &mut Command,
    pipeline: PipelineId,
    definition: &Definition,
) -> Result<(), Failure> {
    let pools: BTreeSet<String> =
        definition.stages.iter().map(|stage| definition.pool(stage).to_owned()).collect();
    let pools: Vec<String> = pools.into_iter().collect();
    let Some(refusing) = command.pool_of_other_pipelines(&pools, pipeline).await? else { return Ok(()) };
    let stages = definition.stages.iter().filter(|stage| definition.pool(stage) == refusing);
    let stages: Vec<String> = stages.map(|stage| format!("`{}`", stage.key)).collect();
    let error = FieldProblem {
        pointer: "/definition".to_owned(),
        detail: format!(
            "names the pool `{refusing}` for {}, which takes no jobs of this pipeline",
            stages.join(", ")
        ),
        ..FieldProblem::default()
    };
    let detail = format!(
        "The pool `{refusing}` is restricted to other pipelines. Use another pool, or ask an admin to add this pipeline \
         ({pipeline}) to the pool's `pipelines`; a new pipeline can be added once it exists."
    );
    Err(Failure { errors: vec![error], ..Failure::new(Code::InvalidDefinition, detail) })
}

fn event_payload(network: Network, restriction: &Restriction) -> Value {
    json!({
        "network": network,
        "pipelines": restriction.pipelines.ids(),
        "environments": restriction.environments,
    })
}

pub fn to_view(pool: RunnerPoolRecord) -> RunnerPool {
    RunnerPool {
        id: pool.id.to_string(),
        name: pool.name,
        network: pool.network.into(),
        pipelines: pipeline_list(&pool.restriction.pipelines),
        environments: pool.restriction.environments,
        runners: pool.runners,
        queued: pool.queued,
        running: pool.running,
    }
}
