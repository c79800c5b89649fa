//! The end of sessions when a member is removed or demoted, or a pipeline is archived.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;
use crate::support::{Caller, eventually};

const TEARDOWN: &str = "ephemeralEnvironments:\n  qa-1: { stages: [build], onRelease: [clean] }\n  \"pr-*\": { max: 250 }\nstages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n  clean:\n    steps:\n      - image: busybox\n        run: 'true'\n";

impl EnvironmentFixture {
    /// Sends a request as the owner, to a path of the organization.
    async fn as_owner(&self, method: Method, path: &str, body: Value) -> Value {
        let path = format!("/organizations/acme{path}");
        let body = (!body.is_null()).then_some(body);
        let (status, json) = self.server.json(method, &path, &self.owner.token, body).await;
        assert_eq!(status, 200, "{json}");
        json["data"].clone()
    }

    async fn session(&self, environment: &str, session: &str) -> Value {
        let record = self.get(&self.owner, &format!("//{environment}/sessions/{session}")).await.is(200);
        record["data"].clone()
    }

    /// `dev` holds `qa-1` with a deployment and waits for `pr-1`, which `mate` holds. Returns the two
    /// sessions of `dev`.
    async fn held_and_waiting(&self) -> (String, String) {
        let held = self.claim(&self.dev, json!({ "commitId": "0123abc" })).await.session();
        self.send(&self.mate, Method::POST, "//pr-1/sessions", json!({})).await.session();
        let waiting = self.send(&self.dev, Method::POST, "//pr-1/sessions", json!({ "queue": true })).await;
        (held, waiting.session())
    }

    /// Runs the worker's periodic task once: it ends sessions that were granted concurrently with a removal.
    async fn follow_endings(&self) -> usize {
        let store = &self.server.server.app.store;
        let mut ended = 0;
        for ending in store.session_endings(100).await.unwrap() {
            ended += store.repeat_session_ending(&ending).await.unwrap();
        }
        ended
    }
}

fn by_environment(response: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let ended = response["ended"].as_array().unwrap().iter();
    let mut ended: Vec<_> =
        ended.map(|one| (text(&one["envName"]), text(&one["sessionId"]), text(&one["status"]))).collect();
    ended.sort();
    ended
}

async fn ends_the_sessions_of(
    fixture: &EnvironmentFixture,
    method: Method,
    body: Value,
    held: &str,
    waiting: &str,
) {
    let path = format!("/members/{}", fixture.dev.user);
    let dry = fixture.as_owner(method.clone(), &format!("{path}?dryRun=true"), body.clone()).await;
    let expected = vec![
        ("pr-1".to_owned(), waiting.to_owned(), "queued".to_owned()),
        ("qa-1".to_owned(), held.to_owned(), "active".to_owned()),
    ];
    assert_eq!(by_environment(&dry), expected);
    // A dry run changes nothing.
    assert_eq!(fixture.session("qa-1", held).await["status"], "active");
    assert_eq!(fixture.session("pr-1", waiting).await["status"], "queued");
    assert_eq!(fixture.as_owner(Method::GET, &path, Value::Null).await["role"], "developer");

    let done = fixture.as_owner(method, &path, body).await;
    assert_eq!(done["ended"], dry["ended"]);
    let (held, waiting) = (fixture.session("qa-1", held).await, fixture.session("pr-1", waiting).await);
    assert_eq!((&held["status"], &waiting["status"]), (&json!("released"), &json!("canceled")));
    for session in [&held, &waiting] {
        assert_eq!(session["endedBy"]["id"], fixture.owner.user, "{session}");
    }
    let deployments = held["deployments"].as_array().unwrap();
    assert!(deployments.iter().any(|one| one["status"] == "canceled"), "{held}");
    assert_eq!(fixture.get(&fixture.owner, "").await.is(200)["data"]["lock"]["status"], "free");
    assert_eq!(fixture.get(&fixture.owner, "//pr-1").await.is(200)["data"]["lock"]["queueLength"], 0);
    // The event has the reason.
    let events = "/organizations/acme/events?type=session.released";
    let recorded = eventually(Duration::from_secs(5), async || {
        let (_, list) = fixture.server.json(Method::GET, events, &fixture.owner.token, None).await;
        let event = &list["data"][0]["data"];
        event["actor"]["id"] == fixture.owner.user
            && event["reason"].as_str().is_some_and(|text| text.contains("any more"))
    });
    assert!(recorded.await);
}

#[tokio::test]
async fn a_removal_ends_sessions() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let (held, waiting) = fixture.held_and_waiting().await;
    ends_the_sessions_of(&fixture, Method::DELETE, Value::Null, &held, &waiting).await;
    fixture.end().await;
}

#[tokio::test]
async fn a_demotion_below_developer_ends_sessions() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let (held, waiting) = fixture.held_and_waiting().await;
    ends_the_sessions_of(&fixture, Method::PATCH, json!({ "role": "viewer" }), &held, &waiting).await;
    fixture.end().await;
}

#[tokio::test]
async fn other_changes_of_role_end_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let (held, waiting) = fixture.held_and_waiting().await;
    let path = format!("/members/{}", fixture.dev.user);
    for role in ["maintainer", "owner", "admin", "developer"] {
        let changed = fixture.as_owner(Method::PATCH, &path, json!({ "role": role })).await;
        assert_eq!(changed["ended"], json!([]), "{role}");
    }
    let renamed = fixture.as_owner(Method::PATCH, &path, json!({ "name": "Dev" })).await;
    assert_eq!(renamed["ended"], json!([]));
    assert_eq!(fixture.session("qa-1", &held).await["status"], "active");
    assert_eq!(fixture.session("pr-1", &waiting).await["status"], "queued");
    assert_eq!(fixture.follow_endings().await, 0);
    fixture.end().await;
}

/// The session behind that of a removed member is granted.
#[tokio::test]
async fn the_next_in_the_queue_is_granted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.session();
    let next = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let path = format!("/members/{}", fixture.dev.user);
    let removed = fixture.as_owner(Method::DELETE, &path, Value::Null).await;
    assert_eq!(removed["ended"].as_array().unwrap().len(), 1, "{removed}");
    assert_eq!(fixture.session("qa-1", &next).await["status"], "active");
    fixture.end().await;
}

#[tokio::test]
async fn archiving_ends_sessions_and_still_tears_them_down() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, TEARDOWN).await;
    let (held, waiting) = fixture.held_and_waiting().await;
    // A step has to have run, so that there is something to tear down.
    sqlx::query("update environments set cleanup = true where name = 'qa-1'").execute(&pool).await.unwrap();
    let path = format!("/pipelines/{}", fixture.pipeline);
    let dry = fixture.as_owner(Method::DELETE, &format!("{path}?dryRun=true"), Value::Null).await;
    assert_eq!(dry["ended"].as_array().unwrap().len(), 3, "{dry}");
    assert_eq!(fixture.as_owner(Method::GET, &path, Value::Null).await["status"], "active");

    let archived = fixture.as_owner(Method::DELETE, &path, Value::Null).await;
    assert_eq!((&archived["status"], &archived["ended"]), (&json!("archived"), &dry["ended"]));
    let (held, waiting) = (fixture.session("qa-1", &held).await, fixture.session("pr-1", &waiting).await);
    assert_eq!((&held["status"], &waiting["status"]), (&json!("released"), &json!("canceled")));
    assert_eq!(held["endedBy"]["id"], fixture.owner.user);
    // The teardown does not wait for its archived pipeline.
    let list = fixture.as_owner(Method::GET, "/deployments?status=queued", Value::Null).await;
    let [teardown] = &list.as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!(teardown["purpose"], "teardown", "{teardown}");
    assert!(!teardown["waitingOn"].to_string().contains("pipeline_archived"), "{teardown}");
    fixture.end().await;
}

#[tokio::test]
async fn two_hundred_sessions_end_with_one_removal() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, TEARDOWN).await;
    for number in 0..200 {
        let path = format!("//pr-{number}/sessions");
        fixture.send(&fixture.dev, Method::POST, &path, json!({})).await.session();
    }
    let started = Instant::now();
    let path = format!("/members/{}", fixture.dev.user);
    let removed = fixture.as_owner(Method::DELETE, &path, Value::Null).await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(removed["ended"].as_array().unwrap().len(), 200);
    assert_eq!(live_sessions(&pool, &fixture.dev).await, 0);
    fixture.end().await;
}

async fn live_sessions(pool: &PgPool, of: &Caller) -> i64 {
    sqlx::query_scalar(
        "select count(*) from sessions where 'usr_' || user_id = $1 and status in ('queued', 'active')",
    )
    .bind(&of.user)
    .fetch_one(pool)
    .await
    .unwrap()
}

/// Race: the grant reads the membership before the removal and is committed after it.
#[tokio::test]
async fn a_grant_concurrent_with_the_removal_ends_too() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    sqlx::raw_sql(
        "create function slow_down() returns trigger language plpgsql as
             $$ begin perform pg_sleep(1); return new; end $$;
         create trigger slow_down before insert on sessions for each row execute function slow_down();",
    )
    .execute(&pool)
    .await
    .unwrap();
    let removing = async {
        let asleep = eventually(Duration::from_secs(5), async || {
            let sql = "select count(*) from pg_stat_activity
                       where datname = current_database() and wait_event = 'PgSleep'";
            sqlx::query_scalar::<_, i64>(sql).fetch_one(&pool).await.unwrap() > 0
        });
        assert!(asleep.await);
        fixture.as_owner(Method::DELETE, &format!("/members/{}", fixture.dev.user), Value::Null).await
    };
    let (claimed, removed) = tokio::join!(fixture.claim(&fixture.dev, json!({})), removing);
    assert_eq!(removed["ended"], json!([]), "the grant and the removal were not concurrent");
    let session = claimed.session();
    assert_eq!(fixture.session("qa-1", &session).await["status"], "active");
    assert_eq!(fixture.follow_endings().await, 1);
    assert_eq!(fixture.session("qa-1", &session).await["status"], "released");
    assert_eq!(live_sessions(&pool, &fixture.dev).await, 0);
    fixture.end().await;
}

/// The worker deletes an ending after three minutes, or when the member may hold sessions again, whose new
/// sessions do not end.
#[tokio::test]
async fn followed_endings_are_deleted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let path = format!("/members/{}", fixture.dev.user);
    let endings = async || fixture.server.server.app.store.session_endings(100).await.unwrap().len();
    fixture.as_owner(Method::PATCH, &path, json!({ "role": "viewer" })).await;
    assert_eq!((fixture.follow_endings().await, endings().await), (0, 1));
    fixture.as_owner(Method::PATCH, &path, json!({ "role": "developer" })).await;
    fixture.claim(&fixture.dev, json!({})).await.session();
    assert_eq!((fixture.follow_endings().await, endings().await), (0, 0));
    assert_eq!(live_sessions(&pool, &fixture.dev).await, 1);
    fixture.as_owner(Method::DELETE, &path, Value::Null).await;
    assert_eq!((fixture.follow_endings().await, endings().await), (0, 1));
    sqlx::query("update session_endings set created_at = created_at - interval '3 minutes'")
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!((fixture.follow_endings().await, endings().await), (0, 0));
    fixture.end().await;
}

/// Concurrent removals and an archiving lock the rows of the same environments in the same order.
#[tokio::test]
async fn removals_and_archiving_do_not_block_each_other() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, TEARDOWN).await;
    for number in 0..20 {
        let (holder, other) =
            if number % 2 == 0 { (&fixture.dev, &fixture.mate) } else { (&fixture.mate, &fixture.dev) };
        let path = format!("//pr-{number}/sessions");
        fixture.send(holder, Method::POST, &path, json!({})).await.session();
        fixture.send(other, Method::POST, &path, json!({ "queue": true })).await.session();
    }
    let (dev, mate) = (format!("/members/{}", fixture.dev.user), format!("/members/{}", fixture.mate.user));
    let pipeline = format!("/pipelines/{}", fixture.pipeline);
    let (dev, mate, archived) = tokio::join!(
        fixture.as_owner(Method::DELETE, &dev, Value::Null),
        fixture.as_owner(Method::DELETE, &mate, Value::Null),
        fixture.as_owner(Method::DELETE, &pipeline, Value::Null),
    );
    let ended = |response: &Value| response["ended"].as_array().unwrap().len();
    assert_eq!(ended(&dev) + ended(&mate) + ended(&archived), 40);
    assert_eq!(live_sessions(&pool, &fixture.dev).await + live_sessions(&pool, &fixture.mate).await, 0);
    fixture.end().await;
}
