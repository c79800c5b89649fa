//! Many sessions wait for one environment and all stop sending heartbeats at the same time, while each
//! message to PostgreSQL takes a millisecond longer. The queue still has to be settled. Time is simulated by
//! moving the waiters' last heartbeats back in the database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::fault::client::Shared;
use crate::fault::finding::Finding;
use crate::fault::fixture::{CROWDED, Person};
use crate::fault::stack::Stack;
use crate::parts::proxy::Network;

/// The maximum number of sessions of one user through agents' tokens.
const MAX_QUEUED_PER_USER: usize = 50;
const LATENCY: Duration = Duration::from_millis(1);
/// Within this time all of them have to be ended, and the environment has to be free.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(20);
const ORGANIZATION: usize = 0;

pub(super) async fn expire(
    stack: &mut Stack,
    shared: &Arc<Shared>,
) -> anyhow::Result<(String, Vec<Finding>)> {
    let path = format!("{}/{CROWDED}/sessions", shared.fixture.organizations[ORGANIZATION].path);
    let Some(holder) = claim(shared, &path).await else {
        return Ok(("the crowded environment could not be claimed".to_owned(), Vec::new()));
    };
    let mut queuing = JoinSet::new();
    for person in &shared.fixture.crowd {
        queuing.spawn(queue(Arc::clone(shared), path.clone(), person.clone()));
    }
    let waiting: usize = queuing.join_all().await.into_iter().sum();
    let (delay, jitter) = (LATENCY, Duration::ZERO);
    stack.daemons().for_each(|daemon| daemon.proxy.set(Network::Slow { delay, jitter }));
    let organization = shared.fixture.organizations[ORGANIZATION].id;
    let settled = settle(stack, organization, shared, &format!("{path}/{holder}")).await;
    stack.daemons().for_each(|daemon| daemon.proxy.set(Network::Good));
    let (left, took) = settled?;
    Ok((
        format!("a queue of {waiting} expired together, settled in {took:.1?}"),
        judge(waiting, left).into_iter().collect(),
    ))
}

/// L16: every session of a queue that expires together has to be ended within [`SETTLE_TIMEOUT`]. `left` is
/// the number of sessions that were not.
fn judge(waiting: usize, left: i64) -> Option<Finding> {
    (left > 0).then(|| {
        let text = format!(
            "{left} of {waiting} waiting sessions without heartbeats were not ended within {SETTLE_TIMEOUT:?}"
        );
        Finding::new("L16", text)
    })
}

/// Returns the session's id as the API writes it.
async fn claim(shared: &Shared, path: &str) -> Option<String> {
    let body = json!({ "ttlSeconds": 30, "context": "the first of many" });
    let token = shared.fixture.crowd.first()?.token();
    let (status, response) = shared.http.call(0, &token, (Method::POST, path), Some(&body), None).await?;
    (status == 201).then(|| response["data"]["sessionId"].as_str().map(str::to_owned))?
}

/// Returns how many places in the queue this person got.
async fn queue(shared: Arc<Shared>, path: String, person: Person) -> usize {
    let (mut got, token) = (0, person.token());
    let body = json!({ "ttlSeconds": 1, "context": "one of many", "queue": true });
    for number in 0..MAX_QUEUED_PER_USER {
        let server = number % shared.http.servers();
        let response = shared.http.call(server, &token, (Method::POST, &path), Some(&body), None).await;
        got += usize::from(response.is_some_and(|(status, _)| status == 202));
    }
    got
}

/// Returns how many sessions are left at the end, and how long it took.
async fn settle(
    stack: &Stack,
    organization: Uuid,
    shared: &Shared,
    held: &str,
) -> anyhow::Result<(i64, Duration)> {
    let mut connection = PgConnection::connect(&stack.postgres.url()).await?;
    sqlx::query(
        "with crowded as (
             update environments set sweep_at = clock_timestamp() where organization_id = $1 and name = $2 returning id
         )
         update sessions s set heard_at = s.heard_at - interval '25 hours' from crowded e
         where s.organization_id = $1 and s.status = 'queued' and s.environment_id = e.id",
    )
    .bind(organization)
    .bind(CROWDED)
    .execute(&mut connection)
    .await?;
    let started = Instant::now();
    let token = shared.fixture.crowd.first().map(Person::token).unwrap_or_default();
    // After the release no request touches the environment any more. The sweeper has to do the rest.
    let mut released = false;
    loop {
        if !released {
            let response = shared.http.call(0, &token, (Method::DELETE, held), None, None).await;
            released = response.is_some_and(|(status, _)| status == 200);
        }
        let left: i64 = sqlx::query_scalar(
            "select count(*) from sessions s join environments e on e.organization_id = $1 and e.id = s.environment_id
             where s.organization_id = $1 and e.name = $2 and s.status in ('queued', 'active')",
        )
        .bind(organization)
        .bind(CROWDED)
        .fetch_one(&mut connection)
        .await?;
        let took = shared.stalls.running_since(started);
        if left == 0 || took > SETTLE_TIMEOUT {
            return Ok((left, took));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_expires_together_is_settled() {
        assert_eq!(judge(250, 0), None);
        let property = |left| judge(250, left).map(|finding| finding.property);
        assert_eq!((property(1), property(250)), (Some("L16"), Some("L16")));
    }
}
