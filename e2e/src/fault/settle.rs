//! After the clients have stopped, every lock has to become free and every waiter has to be ended, by expiry
//! alone.

use std::time::{Duration, Instant};

use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::fault::finding::Finding;
use crate::fault::fixture::LockFixture;
use crate::fault::stack::Stack;
use crate::parts::stalls::StallDetector;

/// The longest lease that a client requests. A silent session that is granted from the queue has the same.
const LEASE: Duration = Duration::from_secs(3);
const GRACE: Duration = Duration::from_secs(5);
/// A request from a black hole may be delivered and carried out only now.
const LATE_REQUESTS: Duration = Duration::from_secs(12);

#[derive(Debug)]
struct Remaining {
    held: usize,
    longest_queue: u64,
}

/// Waits until the system is quiet. What does not become quiet in time is a finding.
pub(crate) async fn settle(
    stack: &Stack,
    fixture: &LockFixture,
    stalls: &StallDetector,
) -> anyhow::Result<Vec<Finding>> {
    // Silent waiters are still granted their turn and let it pass, one lease after the other.
    let (mut timeout, started) = (LEASE + GRACE + LATE_REQUESTS, Instant::now());
    let mut remaining = read_locks(stack, fixture).await;
    if let Some(remaining) = &remaining {
        timeout += LEASE * u32::try_from(remaining.longest_queue).unwrap_or(u32::MAX);
    }
    while remaining.as_ref().is_none_or(|remaining| remaining.held > 0 || remaining.longest_queue > 0)
        || !is_quiet(stack).await?
    {
        if stalls.running_since(started) > timeout {
            let text =
                format!("after {timeout:?} without clients some sessions still hold or wait: {remaining:?}");
            return Ok(vec![Finding::new("L10", text)]);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        remaining = read_locks(stack, fixture).await;
    }
    Ok(Vec::new())
}

/// Returns the worst state of all environments on all servers, or `None` if a server does not respond.
async fn read_locks(stack: &Stack, fixture: &LockFixture) -> Option<Remaining> {
    let mut remaining = Remaining { held: 0, longest_queue: 0 };
    for server in &stack.servers {
        for organization in &fixture.organizations {
            let url = format!("{}{}", server.base_url(), organization.path);
            let response = stack.http.get(url).bearer_auth(&organization.owner_token).send().await.ok()?;
            let listed: Value = serde_json::from_slice(&response.bytes().await.ok()?).ok()?;
            let locks: Vec<&Value> =
                listed["data"].as_array()?.iter().map(|listed| &listed["lock"]).collect();
            let held = locks.iter().filter(|lock| lock["status"] != "free").count();
            remaining.held = remaining.held.max(held);
            let longest = locks.iter().filter_map(|lock| lock["queueLength"].as_u64()).max();
            remaining.longest_queue = remaining.longest_queue.max(longest.unwrap_or(0));
        }
    }
    Some(remaining)
}

/// Returns whether nothing is live, nothing is being written, and every event has its number.
async fn is_quiet(stack: &Stack) -> anyhow::Result<bool> {
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
