//! After the clients have gone: every lock has to become free and every waiter has to be told, by the clock alone.

use std::time::{Duration, Instant};

use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::fault::finding::Finding;
use crate::fault::stack::Stack;
use crate::fault::world::World;

/// The longest lease that a client asks for. A session that is granted from the queue and says nothing has as much.
const LEASE: Duration = Duration::from_secs(3);
const GRACE: Duration = Duration::from_secs(5);
/// What fell into a black hole may come out of it and be carried out only now.
const LATECOMERS: Duration = Duration::from_secs(12);

#[derive(Debug)]
struct Rest {
    held: usize,
    longest_queue: u64,
}

/// Waits until all is quiet. What has not become quiet in its time is a finding.
pub(crate) async fn settle(stack: &Stack, world: &World) -> anyhow::Result<Vec<Finding>> {
    // Who has fallen silent is still granted its turn and lets it pass, one lease after the other.
    let (mut limit, started) = (LEASE + GRACE + LATECOMERS, Instant::now());
    let mut rest = look(stack, world).await;
    if let Some(rest) = &rest {
        limit += LEASE * u32::try_from(rest.longest_queue).unwrap_or(u32::MAX);
    }
    while rest.as_ref().is_none_or(|rest| rest.held > 0 || rest.longest_queue > 0) || !quiet(stack).await? {
        if started.elapsed() > limit {
            let text = format!("after {limit:?} without clients not all is free and told: {rest:?}");
            return Ok(vec![Finding::new("L10", text)]);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        rest = look(stack, world).await;
    }
    Ok(Vec::new())
}

/// What all servers say of all environments; the worst of it. None if one of them does not answer.
async fn look(stack: &Stack, world: &World) -> Option<Rest> {
    let mut rest = Rest { held: 0, longest_queue: 0 };
    for server in &stack.servers {
        for organization in &world.organizations {
            let url = format!("{}{}", server.base_url(), organization.path);
            let answer = stack.http.get(url).bearer_auth(&organization.owner_token).send().await.ok()?;
            let listed: Value = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
            let locks: Vec<&Value> =
                listed["data"].as_array()?.iter().map(|listed| &listed["lock"]).collect();
            let held = locks.iter().filter(|lock| lock["status"] != "free").count();
            rest.held = rest.held.max(held);
            let longest = locks.iter().filter_map(|lock| lock["queueLength"].as_u64()).max();
            rest.longest_queue = rest.longest_queue.max(longest.unwrap_or(0));
        }
    }
    Some(rest)
}

/// Nothing is live, nothing is being written, and every event has its number.
async fn quiet(stack: &Stack) -> anyhow::Result<bool> {
    let mut connection = PgConnection::connect(&stack.postgres.url()).await?;
    Ok(sqlx::query_scalar(
        "select not exists (select from sessions where status in ('queued', 'active'))
            and not exists (select from event_intake)
            and not exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
                              and xact_start < clock_timestamp() - interval '1 second')",
    )
    .fetch_one(&mut connection)
    .await?)
}
