//! Sessions of members who may not hold them any more, and of pipelines that are archived.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::site::Site;
use crate::support::{Caller, eventually};

const TEARDOWN: &str = "ephemeralEnvironments:\n  qa-1: { stages: [build], onRelease: [clean] }\n  \"pr-*\": { max: 250 }\nstages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n  clean:\n    steps:\n      - image: busybox\n        run: 'true'\n";

impl Site {
    /// Changes what is not below an environment, as the owner.
    async fn as_owner(&self, method: Method, path: &str, body: Value) -> Value {
        let path = format!("/organizations/acme{path}");
        let body = (!body.is_null()).then_some(body);
        let (status, json) = self.server.json(method, &path, &self.owner.token, body).await;
        assert_eq!(status, 200, "{json}");
        json["data"].clone()
    }

    async fn session(&self, environment: &str, session: &str) -> Value {
        let shown = self.get(&self.owner, &format!("//{environment}/sessions/{session}")).await.is(200);
        shown["data"].clone()
    }

    /// `dev` holds `qa-1` with a deployment and waits for `pr-1`, which `mate` holds. Returns the two sessions of `dev`.
    async fn held_and_waiting(&self) -> (String, String) {
        let held = self.claim(&self.dev, json!({ "commitId": "0123abc" })).await.session();
        self.send(&self.mate, Method::POST, "//pr-1/sessions", json!({})).await.session();
        let waiting = self.send(&self.dev, Method::POST, "//pr-1/sessions", json!({ "queue": true })).await;
        (held, waiting.session())
    }

    /// What the worker does every second.
    async fn follow_endings(&self) -> usize {
        let store = &self.server.server.app.store;
        let mut ended = 0;
        for ending in store.session_endings(100).await.unwrap() {
            ended += store.follow_session_ending(&ending).await.unwrap();
        }
        ended
    }
}

fn by_environment(answer: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let ended = answer["ended"].as_array().unwrap().iter();
    let mut ended: Vec<_> =
        ended.map(|one| (text(&one["envName"]), text(&one["sessionId"]), text(&one["status"]))).collect();
    ended.sort();
    ended
}

async fn ends_the_sessions_of(site: &Site, method: Method, body: Value, held: &str, waiting: &str) {
    let path = format!("/members/{}", site.dev.user);
    let dry = site.as_owner(method.clone(), &format!("{path}?dryRun=true"), body.clone()).await;
    let expected = vec![
        ("pr-1".to_owned(), waiting.to_owned(), "queued".to_owned()),
        ("qa-1".to_owned(), held.to_owned(), "active".to_owned()),
    ];
    assert_eq!(by_environment(&dry), expected);
    // A dry run changes nothing.
    assert_eq!(site.session("qa-1", held).await["status"], "active");
    assert_eq!(site.session("pr-1", waiting).await["status"], "queued");
    assert_eq!(site.as_owner(Method::GET, &path, Value::Null).await["role"], "developer");

    let done = site.as_owner(method, &path, body).await;
    assert_eq!(done["ended"], dry["ended"]);
    let (held, waiting) = (site.session("qa-1", held).await, site.session("pr-1", waiting).await);
    assert_eq!((&held["status"], &waiting["status"]), (&json!("released"), &json!("canceled")));
    for session in [&held, &waiting] {
        assert_eq!(session["endedBy"]["id"], site.owner.user, "{session}");
    }
    let deployments = held["deployments"].as_array().unwrap();
    assert!(deployments.iter().any(|one| one["status"] == "canceled"), "{held}");
    assert_eq!(site.get(&site.owner, "").await.is(200)["data"]["lock"]["status"], "free");
    assert_eq!(site.get(&site.owner, "//pr-1").await.is(200)["data"]["lock"]["queueLength"], 0);
    // The event says why.
    let events = "/organizations/acme/events?type=session.released";
    let told = eventually(Duration::from_secs(5), async || {
        let (_, listed) = site.server.json(Method::GET, events, &site.owner.token, None).await;
        let event = &listed["data"][0]["data"];
        event["actor"]["id"] == site.owner.user
            && event["reason"].as_str().is_some_and(|text| text.contains("any more"))
    });
    assert!(told.await);
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_removal_ends_sessions(pool: PgPool) {
    let site = Site::new(&pool).await;
    let (held, waiting) = site.held_and_waiting().await;
    ends_the_sessions_of(&site, Method::DELETE, Value::Null, &held, &waiting).await;
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_demotion_below_developer_ends_sessions(pool: PgPool) {
    let site = Site::new(&pool).await;
    let (held, waiting) = site.held_and_waiting().await;
    ends_the_sessions_of(&site, Method::PATCH, json!({ "role": "viewer" }), &held, &waiting).await;
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn other_changes_of_role_end_nothing(pool: PgPool) {
    let site = Site::new(&pool).await;
    let (held, waiting) = site.held_and_waiting().await;
    let path = format!("/members/{}", site.dev.user);
    for role in ["maintainer", "owner", "admin", "developer"] {
        let changed = site.as_owner(Method::PATCH, &path, json!({ "role": role })).await;
        assert_eq!(changed["ended"], json!([]), "{role}");
    }
    let renamed = site.as_owner(Method::PATCH, &path, json!({ "name": "Dev" })).await;
    assert_eq!(renamed["ended"], json!([]));
    assert_eq!(site.session("qa-1", &held).await["status"], "active");
    assert_eq!(site.session("pr-1", &waiting).await["status"], "queued");
    assert_eq!(site.follow_endings().await, 0);
    site.end().await;
}

/// Who waits behind a removed member has their turn.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_next_in_the_queue_has_its_turn(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.session();
    let next = site.claim(&site.mate, json!({ "queue": true })).await.session();
    let path = format!("/members/{}", site.dev.user);
    let removed = site.as_owner(Method::DELETE, &path, Value::Null).await;
    assert_eq!(removed["ended"].as_array().unwrap().len(), 1, "{removed}");
    assert_eq!(site.session("qa-1", &next).await["status"], "active");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn archiving_ends_sessions_and_leaves_their_clean_up(pool: PgPool) {
    let site = Site::with(&pool, TEARDOWN).await;
    let (held, waiting) = site.held_and_waiting().await;
    // Something has to have run in it, so that there is something to clean up.
    sqlx::query("update environments set cleanup = true where name = 'qa-1'").execute(&pool).await.unwrap();
    let path = format!("/pipelines/{}", site.pipeline);
    let dry = site.as_owner(Method::DELETE, &format!("{path}?dryRun=true"), Value::Null).await;
    assert_eq!(dry["ended"].as_array().unwrap().len(), 3, "{dry}");
    assert_eq!(site.as_owner(Method::GET, &path, Value::Null).await["status"], "active");

    let archived = site.as_owner(Method::DELETE, &path, Value::Null).await;
    assert_eq!((&archived["status"], &archived["ended"]), (&json!("archived"), &dry["ended"]));
    let (held, waiting) = (site.session("qa-1", &held).await, site.session("pr-1", &waiting).await);
    assert_eq!((&held["status"], &waiting["status"]), (&json!("released"), &json!("canceled")));
    assert_eq!(held["endedBy"]["id"], site.owner.user);
    // The clean-up waits for nothing that never comes.
    let listed = site.as_owner(Method::GET, "/deployments?status=queued", Value::Null).await;
    let [teardown] = &listed.as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!(teardown["purpose"], "teardown", "{teardown}");
    assert!(!teardown["waitingOn"].to_string().contains("pipeline_archived"), "{teardown}");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn two_hundred_sessions_end_with_one_removal(pool: PgPool) {
    let site = Site::with(&pool, TEARDOWN).await;
    for number in 0..200 {
        let path = format!("//pr-{number}/sessions");
        site.send(&site.dev, Method::POST, &path, json!({})).await.session();
    }
    let started = Instant::now();
    let path = format!("/members/{}", site.dev.user);
    let removed = site.as_owner(Method::DELETE, &path, Value::Null).await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(removed["ended"].as_array().unwrap().len(), 200);
    assert_eq!(live_sessions(&pool, &site.dev).await, 0);
    site.end().await;
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

/// The grant has read the membership before the removal, and is written after it.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_grant_that_runs_beside_the_removal_ends_too(pool: PgPool) {
    let site = Site::new(&pool).await;
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
        site.as_owner(Method::DELETE, &format!("/members/{}", site.dev.user), Value::Null).await
    };
    let (claimed, removed) = tokio::join!(site.claim(&site.dev, json!({})), removing);
    assert_eq!(removed["ended"], json!([]), "the two should have met");
    let session = claimed.session();
    assert_eq!(site.session("qa-1", &session).await["status"], "active");
    assert_eq!(site.follow_endings().await, 1);
    assert_eq!(site.session("qa-1", &session).await["status"], "released");
    assert_eq!(live_sessions(&pool, &site.dev).await, 0);
    site.end().await;
}

/// What was looked at for long enough is forgotten, and nothing of a member who came back is ended.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn endings_are_forgotten(pool: PgPool) {
    let site = Site::new(&pool).await;
    let path = format!("/members/{}", site.dev.user);
    let endings = async || site.server.server.app.store.session_endings(100).await.unwrap().len();
    site.as_owner(Method::PATCH, &path, json!({ "role": "viewer" })).await;
    assert_eq!((site.follow_endings().await, endings().await), (0, 1));
    site.as_owner(Method::PATCH, &path, json!({ "role": "developer" })).await;
    site.claim(&site.dev, json!({})).await.session();
    assert_eq!((site.follow_endings().await, endings().await), (0, 0));
    assert_eq!(live_sessions(&pool, &site.dev).await, 1);
    site.as_owner(Method::DELETE, &path, Value::Null).await;
    assert_eq!((site.follow_endings().await, endings().await), (0, 1));
    sqlx::query("update session_endings set created_at = created_at - interval '3 minutes'")
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!((site.follow_endings().await, endings().await), (0, 0));
    site.end().await;
}

/// Removals and an archiving that want the same environments: each takes their rows in the same order.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn removals_and_archiving_do_not_block_each_other(pool: PgPool) {
    let site = Site::with(&pool, TEARDOWN).await;
    for number in 0..20 {
        let (holder, other) = if number % 2 == 0 { (&site.dev, &site.mate) } else { (&site.mate, &site.dev) };
        let path = format!("//pr-{number}/sessions");
        site.send(holder, Method::POST, &path, json!({})).await.session();
        site.send(other, Method::POST, &path, json!({ "queue": true })).await.session();
    }
    let (dev, mate) = (format!("/members/{}", site.dev.user), format!("/members/{}", site.mate.user));
    let pipeline = format!("/pipelines/{}", site.pipeline);
    let (dev, mate, archived) = tokio::join!(
        site.as_owner(Method::DELETE, &dev, Value::Null),
        site.as_owner(Method::DELETE, &mate, Value::Null),
        site.as_owner(Method::DELETE, &pipeline, Value::Null),
    );
    let ended = |answer: &Value| answer["ended"].as_array().unwrap().len();
    assert_eq!(ended(&dev) + ended(&mate) + ended(&archived), 40);
    assert_eq!(live_sessions(&pool, &site.dev).await + live_sessions(&pool, &site.mate).await, 0);
    site.end().await;
}
