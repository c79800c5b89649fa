//! Filters of deployments, sessions and events.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::environments::SHOP;
use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;
use crate::support::{eventually, in_hours};

async fn ids(fixture: &DeploymentFixture, path: &str, field: &str) -> Vec<String> {
    let (status, list) = fixture.call(Method::GET, path, Value::Null).await;
    assert_eq!(status, 200, "{path}: {list}");
    let rows = list["data"].as_array().unwrap();
    assert_eq!(list["pagination"]["total"], rows.len(), "{path}");
    rows.iter().map(|row| row[field].as_str().unwrap().to_owned()).collect()
}

fn hours_ago(hours: i64) -> Timestamp {
    in_hours(-hours)
}

#[tokio::test]
async fn deployments_are_filtered_by_pipeline_creator_time_and_several_statuses() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let first = fixture.start().await;
    let body = json!({ "name": "API", "definition": SHOP });
    let (_, made) = fixture.call(Method::POST, "/pipelines", body).await;
    let other = made["data"]["id"].as_str().unwrap();
    let second = fixture.start_of(other).await;
    let (_, third) = fixture.claim("qa-1", &mate, "sessions").await;
    assert_eq!(fixture.call(Method::POST, &format!("/deployments/{first}/cancel"), json!({})).await.0, 202);
    fixture.advance(&first).await;
    // The record counts, and not the time in its id; both are made in the same moment, up to the clocks.
    let old = "update deployments set created_at = created_at - interval '3 hours' where 'dep_' || id = $1";
    sqlx::query(old).bind(&second).execute(&pool).await.unwrap();

    let (hour, later) = (hours_ago(1), hours_ago(-1));
    let mate_id = mate.user.as_str();
    for (query, expected) in [
        (String::new(), vec![&third, &second, &first]),
        ("?pipelineId=api".to_owned(), vec![&second]),
        (format!("?pipelineId={other}"), vec![&second]),
        ("?pipelineId=nothing".to_owned(), vec![]),
        ("?createdBy=me".to_owned(), vec![&second, &first]),
        (format!("?createdBy={mate_id}"), vec![&third]),
        ("?status=queued".to_owned(), vec![&third, &second]),
        ("?status=queued,canceled".to_owned(), vec![&third, &second, &first]),
        ("?status=canceled,errored".to_owned(), vec![&first]),
        ("?status=errored".to_owned(), vec![]),
        (format!("?from={hour}"), vec![&third, &first]),
        (format!("?to={hour}"), vec![&second]),
        (format!("?from={}&to={later}", hours_ago(4)), vec![&third, &second, &first]),
        (format!("?from={later}"), vec![]),
        ("?commitId=0123".to_owned(), vec![&third, &second, &first]),
        ("?commitId=f".to_owned(), vec![]),
        (format!("?from={hour}&createdBy=me&status=canceled&pipelineId=shop"), vec![&first]),
    ] {
        let found = ids(&fixture, &format!("/deployments{query}"), "id").await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    for query in
        ["createdBy=you", "from=yesterday", "to=1", "pipelineId=a%2Fb", "status=%25", "commitId=____"]
    {
        let (status, refused) =
            fixture.call(Method::GET, &format!("/deployments?{query}"), Value::Null).await;
        let name = query.split('=').next().unwrap();
        assert_eq!((status, &refused["errors"][0]["pointer"]), (422, &json!(name)), "{refused}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn events_are_filtered_by_several_types() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (session, _) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    fixture.release("qa-1", &fixture.owner, &session).await;
    let both = "/events?type=session.released,session.claimed";
    let sequenced = eventually(Duration::from_secs(5), async || {
        fixture.call(Method::GET, both, Value::Null).await.1["pagination"]["total"] == 2
    });
    assert!(sequenced.await);
    let in_order = ["session.released", "session.claimed"];
    assert_eq!(ids(&fixture, both, "type").await, in_order);
    assert_eq!(ids(&fixture, "/events?type=session.claimed", "type").await, in_order[1..]);
    let after = ids(&fixture, &format!("{both}&after=0"), "type").await;
    assert_eq!(after, ["session.claimed", "session.released"]);
    // A stream filters events of the database and new ones alike.
    let path = format!("/organizations/acme{both}").replace("/events?", "/events/stream?after=0&");
    let mut stream = fixture.server.send(Method::GET, &path, Some(&fixture.owner.token), None).await;
    fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let mut text = String::new();
    let read = async {
        while text.matches("event: session.claimed").count() < 2 {
            text += std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(10), read).await.unwrap();
    assert!(text.contains("event: session.released") && !text.contains("event: deployment."), "{text}");
    drop(stream);
    fixture.end().await;
}

#[tokio::test]
async fn a_history_is_filtered_by_time() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(
        &pool,
        "ephemeralEnvironments: { qa-1: {} }\nstages: { build: { steps: [{ image: a, run: b }] } }",
    )
    .await;
    let environment = format!("/pipelines/{}/ephemeral-environments/qa-1", fixture.pipeline);
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let path = format!("{environment}/sessions");
        let (_, claimed) = fixture.call(Method::POST, &path, json!({})).await;
        sessions.push(claimed["data"]["sessionId"].as_str().unwrap().to_owned());
        if sessions.len() < 3 {
            fixture.release("qa-1", &fixture.owner, sessions.last().unwrap()).await;
        }
    }
    // The first was held from 10 to 8 hours ago, the second from 5 to 4; the third is held.
    for (session, claimed, ended) in [(&sessions[0], 10, 8), (&sessions[1], 5, 4)] {
        let sql = "update sessions set claimed_at = clock_timestamp() - $2 * interval '1 hour',
                   ended_at = clock_timestamp() - $3 * interval '1 hour' where 'ses_' || id = $1";
        sqlx::query(sql).bind(session).bind(claimed).bind(ended).execute(&pool).await.unwrap();
    }
    let [first, second, third] = [&sessions[0], &sessions[1], &sessions[2]];
    for (from, to, expected) in [
        (None, None, vec![third, second, first]),
        (Some(9), None, vec![third, second, first]),
        (Some(7), None, vec![third, second]),
        (Some(3), None, vec![third]),
        (None, Some(11), vec![]),
        (None, Some(9), vec![first]),
        (Some(9), Some(6), vec![first]),
        (Some(7), Some(6), vec![]),
        (Some(9), Some(4), vec![second, first]),
    ] {
        let bound = |name: &str, hours: Option<i64>| {
            hours.map(|hours| format!("&{name}={}", hours_ago(hours))).unwrap_or_default()
        };
        let path = format!("{environment}/history?limit=10{}{}", bound("from", from), bound("to", to));
        let found = ids(&fixture, &path, "sessionId").await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{path}");
    }
    let path = format!("{environment}/history?from={}&limit=1&page=2", hours_ago(9));
    let (_, page) = fixture.call(Method::GET, &path, Value::Null).await;
    assert_eq!(page["data"][0]["sessionId"], *second);
    assert_eq!(page["pagination"], json!({ "page": 2, "limit": 1, "total": 3, "totalPages": 3 }));
    let (status, refused) =
        fixture.call(Method::GET, &format!("{environment}/history?from=x"), Value::Null).await;
    assert_eq!((status, &refused["errors"][0]["pointer"]), (422, &json!("from")));
    fixture.end().await;
}
