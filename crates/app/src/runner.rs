//! Runners: creating and revoking them.

use greenroom_api_types::runner_pool::{CreateRunner, Runner, RunnerJob};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::DEFAULT_POOL;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{PoolId, RunnerId};
use greenroom_domain::slug::Slug;
use greenroom_domain::text::Name;
use greenroom_domain::token::{SecretKind, TokenSecret};
use greenroom_store::Command;
use greenroom_store::runner::{NewRunner, Runner as Record, RunnerJob as JobRecord};
use serde_json::json;
use uuid::Uuid;

use crate::failure::Failure;
use crate::token::new_secret_of;

/// Creates a runner. Its token is returned once and not stored.
#[boxed_futures]
pub async fn create(command: &mut Command, request: &CreateRunner) -> Result<(Record, TokenSecret), Failure> {
    let name = Name::new(&request.name).map_err(|error| Failure::field("/name", error))?;
    let pool = request.pool.as_deref().unwrap_or(DEFAULT_POOL);
    pool.parse::<Slug>().map_err(|error| Failure::field("/pool", error))?;
    let secret = new_secret_of(SecretKind::Runner);
    let new = NewRunner {
        id: RunnerId::from(Uuid::now_v7()),
        secret: &secret,
        name: name.as_str(),
        pool,
        new_pool_id: PoolId::from(Uuid::now_v7()),
    };
    let made = command.create_runner(new).await?;
    record_event(command, EventType::RunnerCreated, &made).await?;
    Ok((made, secret))
}

/// Revokes a runner. Idempotent.
#[boxed_futures]
pub async fn revoke(command: &mut Command, id: RunnerId) -> Result<Record, Failure> {
    let revoked = command.revoke_runner(id).await?.ok_or_else(Failure::not_found)?;
    if revoked.is_new {
        record_event(command, EventType::RunnerRevoked, &revoked.runner).await?;
    }
    Ok(revoked.runner)
}

async fn record_event(command: &mut Command, event_type: EventType, runner: &Record) -> Result<(), Failure> {
    let after = Some(json!({ "name": runner.name, "pool": runner.pool }));
    let subject = format!("runners/{}", runner.id);
    Ok(command.record_event(NewEvent { event_type, subject, before: None, after, reason: None }).await?)
}

fn job(record: JobRecord) -> RunnerJob {
    RunnerJob {
        job_id: record.id.to_string(),
        deployment_id: record.deployment_id.to_string(),
        stage: record.stage,
        started_at: record.started_at,
    }
}

pub fn to_view(record: Record) -> Runner {
    Runner {
        id: record.id.to_string(),
        name: record.name,
        pool: record.pool,
        hint: record.hint,
        version: record.version,
        status: record.status.into(),
        jobs: record.jobs.into_iter().map(job).collect(),
        created_at: record.created_at,
        last_seen_at: record.last_seen_at,
        revoked_at: record.revoked_at,
    }
}
