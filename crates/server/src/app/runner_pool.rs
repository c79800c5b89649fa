//! Runner pools: what their steps may reach.

use greenroom_api_types::runner_pool::{RunnerPool, UpdateRunnerPool};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::runner_pool::Network;
use greenroom_store::Command;
use greenroom_store::runner_pool::Pool;
use serde_json::json;

use crate::app::failure::Failure;
use crate::app::precondition::IfMatch;

pub async fn update(
    command: &mut Command,
    name: &str,
    condition: &IfMatch,
    request: &UpdateRunnerPool,
) -> Result<Pool, Failure> {
    let before = command.runner_pool_for_update(name).await?.ok_or_else(Failure::not_found)?;
    condition.check(before.revision)?;
    let network = request.network.map_or(before.network, Network::from);
    if network == before.network {
        return Ok(before);
    }
    let revision = command.set_pool_network(before.id, network).await?;
    command
        .tell(NewEvent {
            event_type: EventType::RunnerPoolUpdated,
            subject: format!("runner-pools/{name}"),
            before: Some(json!({ "network": before.network })),
            after: Some(json!({ "network": network })),
            reason: None,
        })
        .await?;
    Ok(Pool { network, revision, ..before })
}

pub fn shown(pool: Pool) -> RunnerPool {
    RunnerPool {
        id: pool.id.to_string(),
        name: pool.name,
        network: pool.network.into(),
        runners: pool.runners,
        queued: pool.queued,
        running: pool.running,
    }
}
