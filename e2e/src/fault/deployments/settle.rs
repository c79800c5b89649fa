//! After the clients have stopped and every fault is reverted, every deployment has to end, every environment
//! has to become free, and no process of any step may be left.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::fault::deployments::organization::Organization;
use crate::fault::deployments::stack::Stack;
use crate::fault::finding::Finding;
use crate::parts::left_over::{command_line, processes_with};

/// How long all of it may take.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(120);
/// The entrypoint of a step whose runner was killed notices after 20 s.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(30);

/// The deployments that had not ended, and their blockers according to the API.
pub(crate) type Waiting = HashMap<Uuid, String>;

pub(crate) async fn settle(stack: &Stack, organization: &Organization) -> anyhow::Result<Waiting> {
    let started = Instant::now();
    loop {
        let live = live(stack).await?;
        if live.is_empty() && is_quiet(stack).await? {
            return Ok(Waiting::new());
        }
        if started.elapsed() > SETTLE_TIMEOUT {
            let mut waiting = Waiting::new();
            for id in live {
                let state = match organization.read(stack, &format!("/deployments/dep_{id}")).await {
                    Ok(record) => format!("{}, waits for {}", record["status"], record["waitingOn"]),
                    Err(error) => format!("could not be read: {error:#}"),
                };
                waiting.insert(id, state);
            }
            return Ok(waiting);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Returns the processes of steps that outlive all deployments.
pub(crate) async fn left_over(mark: &str) -> Vec<Finding> {
    let started = Instant::now();
    loop {
        let processes = processes_with(mark);
        if processes.is_empty() {
            return Vec::new();
        }
        if started.elapsed() > CLEANUP_TIMEOUT {
            let text =
                |pid: &u32| format!("a process of a step is left: {pid} {}", command_line(*pid).trim());
            return processes.iter().map(|pid| Finding::new("D6", text(pid))).collect();
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn live(stack: &Stack) -> anyhow::Result<Vec<Uuid>> {
    let mut connection = PgConnection::connect(&stack.postgres.url()).await?;
    let live = sqlx::query_scalar("select id from deployments where ended_at is null order by id");
    Ok(live.fetch_all(&mut connection).await?)
}

/// Returns whether no environment is held, no work slot is in use, and every event has its number.
async fn is_quiet(stack: &Stack) -> anyhow::Result<bool> {
    let mut connection = PgConnection::connect(&stack.postgres.url()).await?;
    Ok(sqlx::query_scalar(
        "select not exists (select from sessions where status in ('queued', 'active'))
            and not exists (select from environments where slot_deployment_id is not null)
            and not exists (select from lasting_environments where slot_deployment_id is not null)
            and not exists (select from event_intake)",
    )
    .fetch_one(&mut connection)
    .await?)
}
