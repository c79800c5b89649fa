//! Many wait for one environment, and all of them fall silent at once, while each message to PostgreSQL takes a millisecond longer. The queue
//! has to be settled all the same. Time is made to pass by moving the waiters' last heartbeats back in the database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::fault::client::Shared;
use crate::fault::finding::Finding;
use crate::fault::stack::Stack;
use crate::fault::world::{CROWDED, Person};
use crate::parts::proxy::Network;

/// As many as one user may have through agents' tokens.
const PLACES: usize = 50;
const LATENCY: Duration = Duration::from_millis(1);
/// Within this time all of them have to be told, and the environment free.
const SETTLED: Duration = Duration::from_secs(20);
const IN_ORGANIZATION: usize = 0;

pub(super) async fn expire(
    stack: &mut Stack,
    shared: &Arc<Shared>,
) -> anyhow::Result<(String, Vec<Finding>)> {
    let path = format!("{}/{CROWDED}/sessions", shared.world.organizations[IN_ORGANIZATION].path);
    let Some(holder) = claim(shared, &path).await else {
        return Ok(("nobody got the crowded environment".to_owned(), Vec::new()));
    };
    let mut queuing = JoinSet::new();
    for person in &shared.world.crowd {
        queuing.spawn(queue(Arc::clone(shared), path.clone(), person.clone()));
    }
    let waiting: usize = queuing.join_all().await.into_iter().sum();
    let (delay, jitter) = (LATENCY, Duration::ZERO);
    stack.daemons().for_each(|daemon| daemon.proxy.set(Network::Slow { delay, jitter }));
    let organization = shared.world.organizations[IN_ORGANIZATION].id;
    let settled = settle(stack, organization, shared, &format!("{path}/{holder}")).await;
    stack.daemons().for_each(|daemon| daemon.proxy.set(Network::Good));
    let (left, took) = settled?;
    Ok((
        format!("a queue of {waiting} expired at once, settled in {took:.1?}"),
        judge(waiting, left).into_iter().collect(),
    ))
}

/// L16: every session of a queue that expired at once has to be ended within [`SETTLED`]; `left` is how many were not.
fn judge(waiting: usize, left: i64) -> Option<Finding> {
    (left > 0).then(|| {
        let text = format!(
            "{left} of {waiting} waiting sessions without heartbeats were not ended within {SETTLED:?}"
        );
        Finding::new("L16", text)
    })
}

/// The session's id as the API writes it.
async fn claim(shared: &Shared, path: &str) -> Option<String> {
    let body = json!({ "ttlSeconds": 30, "context": "the first of many" });
    let token = shared.world.crowd.first()?.token();
    let (status, answer) = shared.http.call(0, &token, (Method::POST, path), Some(&body), None).await?;
    (status == 201).then(|| answer["data"]["sessionId"].as_str().map(str::to_owned))?
}

/// How many places this one got.
async fn queue(shared: Arc<Shared>, path: String, person: Person) -> usize {
    let (mut got, token) = (0, person.token());
    let body = json!({ "ttlSeconds": 1, "context": "one of many", "queue": true });
    for number in 0..PLACES {
        let server = number % shared.http.servers();
        let answer = shared.http.call(server, &token, (Method::POST, &path), Some(&body), None).await;
        got += usize::from(answer.is_some_and(|(status, _)| status == 202));
    }
    got
}

/// How many are still there in the end, and how long it took.
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
         update sessions s set heard_at = s.heard_at - interval '1 hour' from crowded e
         where s.organization_id = $1 and s.status = 'queued' and s.environment_id = e.id",
    )
    .bind(organization)
    .bind(CROWDED)
    .execute(&mut connection)
    .await?;
    let started = Instant::now();
    let token = shared.world.crowd.first().map(Person::token).unwrap_or_default();
    // Once it is done nobody asks for anything there any more: the rest is the sweeper's.
    let mut released = false;
    loop {
        if !released {
            let answer = shared.http.call(0, &token, (Method::DELETE, held), None, None).await;
            released = answer.is_some_and(|(status, _)| status == 200);
        }
        let left: i64 = sqlx::query_scalar(
            "select count(*) from sessions s join environments e on e.organization_id = $1 and e.id = s.environment_id
             where s.organization_id = $1 and e.name = $2 and s.status in ('queued', 'active')",
        )
        .bind(organization)
        .bind(CROWDED)
        .fetch_one(&mut connection)
        .await?;
        if left == 0 || started.elapsed() > SETTLED {
            return Ok((left, started.elapsed()));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_expires_at_once_is_settled() {
        assert_eq!(judge(250, 0), None);
        let property = |left| judge(250, left).map(|finding| finding.property);
        assert_eq!((property(1), property(250)), (Some("L16"), Some("L16")));
    }
}
