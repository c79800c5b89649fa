//! Lasting environments as the API lists them: what is live, which deployment works there, and what keeps others
//! from it.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

const RELEASE: &str = "environments:
  staging: {}
  production: { url: 'https://shop.test', branches: [main] }
stages:
  release: { environment: production, steps: [{ image: a, run: b }] }
";

/// Without `production`, and with another environment before `staging`.
const WITHOUT_PRODUCTION: &str = "environments: { zone-b: {}, staging: {} }
stages:
  release: { environment: staging, steps: [{ image: a, run: b }] }
";

const ENVIRONMENTS: &str = "/pipelines/shop/environments";
const PRODUCTION: &str = "/pipelines/shop/environments/production";

async fn get(fixture: &DeploymentFixture, path: &str) -> Value {
    let (status, response) = fixture.call(Method::GET, path, Value::Null).await;
    assert_eq!(status, 200, "{path}: {response}");
    response
}

/// Returns the named fields of each record.
fn fields(list: &Value, names: &[&str]) -> Vec<Vec<Value>> {
    let records = list["data"].as_array().unwrap().iter();
    records.map(|record| names.iter().map(|name| record[name].clone()).collect()).collect()
}

fn names(list: &Value) -> Vec<&str> {
    list["data"].as_array().unwrap().iter().map(|record| record["name"].as_str().unwrap()).collect()
}

/// Starts a deployment of a commit.
async fn start(fixture: &DeploymentFixture, commit: &str) -> String {
    let body = json!({ "commitId": commit });
    let (status, made) = fixture.call(Method::POST, "/pipelines/shop/deployments", body).await;
    assert_eq!(status, 202, "{made}");
    made["data"]["id"].as_str().unwrap().to_owned()
}

/// Lets runs without a repository deploy to `production`, whose commits have to be on a branch.
async fn fixture(pool: &PgPool) -> DeploymentFixture {
    DeploymentFixture::new(pool, &RELEASE.replace(", branches: [main]", "")).await
}

#[tokio::test]
async fn an_environment_shows_what_is_live_and_which_deployment_works_there() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = fixture(&pool).await;
    let empty = get(&fixture, PRODUCTION).await["data"].take();
    let expected = json!({
        "name": "production", "kind": "lasting", "pipelineId": fixture.pipeline, "pipelineSlug": "shop",
        "url": "https://shop.test", "branches": [], "live": null, "slot": null, "hold": null, "freeze": null,
        "waiting": 0,
    });
    assert_eq!(empty, expected);
    let owner = get(&fixture, &format!("/members/{}", fixture.owner.user)).await["data"].take();
    let owner = json!({ "id": fixture.owner.user, "name": owner["name"] });

    let first = start(&fixture, "0123abc").await;
    let second = start(&fixture, "4567def").await;
    let queued = fixture.advance(&first).await;
    fixture.advance(&second).await;
    let slot = json!({ "deploymentId": first, "commitId": "0123abc", "since": null, "by": owner });
    let record = get(&fixture, PRODUCTION).await["data"].take();
    assert_eq!((&record["slot"], &record["waiting"]), (&slot, &json!(1)), "no step has started yet");
    let job = fixture.take(&queued).await;
    assert_eq!(get(&fixture, &format!("{PRODUCTION}/history")).await["data"], json!([]));

    fixture.run_job(&job, 0).await;
    let record = get(&fixture, PRODUCTION).await["data"].take();
    let history = get(&fixture, &format!("{PRODUCTION}/history")).await["data"][0].take();
    assert!(record["slot"]["since"].is_string(), "{record}");
    assert_eq!(record["slot"]["since"], history["beganAt"]);
    assert_eq!((&history["endedAt"], &history["outcome"]), (&json!(null), &json!(null)), "{history}");
    assert_eq!(record["live"], json!(null));

    assert!(fixture.advance(&first).await.ended);
    let record = get(&fixture, PRODUCTION).await["data"].take();
    let live = json!({
        "deploymentId": first, "commitId": "0123abc", "branch": null, "at": record["live"]["at"], "by": owner,
        "rollback": false,
    });
    assert!(record["live"]["at"].is_string(), "{record}");
    assert_eq!(record["live"], live);
    assert_eq!(record["slot"]["deploymentId"], second.as_str(), "it is the next one's turn");
    let waiting = &get(&fixture, PRODUCTION).await["data"]["waiting"];
    assert_eq!(waiting, 1, "the next one has not been advanced");
    assert!(fixture.run_next_job(&second, 0).await.ended);
    let record = get(&fixture, PRODUCTION).await["data"].take();
    assert_eq!((&record["slot"], &record["waiting"]), (&json!(null), &json!(0)));
    assert_eq!(record["live"]["commitId"], "4567def");
    // The other environment has nothing of this.
    let staging = get(&fixture, &format!("{ENVIRONMENTS}/staging")).await["data"].take();
    assert_eq!((&staging["live"], &staging["slot"]), (&json!(null), &json!(null)));
    fixture.end().await;
}

#[tokio::test]
async fn the_history_has_each_deployment_that_began_and_marks_the_live_one() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = fixture(&pool).await;
    let mut ids = Vec::new();
    for (commit, exit_code) in [("a111111", 0), ("b222222", 0), ("c333333", 1)] {
        let id = start(&fixture, commit).await;
        assert!(fixture.run_next_job(&id, exit_code).await.ended);
        ids.push(id);
    }
    let history = async |query: &str| get(&fixture, &format!("{PRODUCTION}/history{query}")).await;
    let shown = ["fence", "deploymentId", "commitId", "outcome", "live", "rollback"];
    let entry = |fence: i64, id: usize, commit: &str, outcome: &str, live: bool, rollback: bool| {
        vec![json!(fence), json!(ids[id]), json!(commit), json!(outcome), json!(live), json!(rollback)]
    };
    let all = history("").await;
    let expected = [
        entry(3, 2, "c333333", "failed", false, false),
        entry(2, 1, "b222222", "succeeded", true, false),
        entry(1, 0, "a111111", "succeeded", false, false),
    ];
    assert_eq!(fields(&all, &shown), expected);
    let page = history("?limit=1&offset=1").await;
    assert_eq!(page["data"], json!([all["data"][1]]));
    assert_eq!(page["pagination"], json!({ "limit": 1, "offset": 1, "total": 3 }));
    assert!(all["data"][0]["beganAt"].as_str() <= all["data"][0]["endedAt"].as_str());

    // A rollback to the first one: it is listed again, by the one who requested it, and only the new entry is live.
    let maintainer = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let path = format!("/organizations/acme/deployments/{}/stages/release/retry", ids[0]);
    let rollback = Some(json!({ "allowOlder": true }));
    let (status, accepted) = fixture.server.json(Method::POST, &path, &maintainer.token, rollback).await;
    assert_eq!(status, 202, "{accepted}");
    assert!(fixture.run_next_job(&ids[0], 0).await.ended);
    let all = history("").await;
    let mut expected = expected.to_vec();
    expected[1][4] = json!(false);
    expected.insert(0, entry(4, 0, "a111111", "succeeded", true, true));
    assert_eq!(fields(&all, &shown), expected);
    assert_eq!(all["data"][0]["by"]["id"], maintainer.user.as_str());
    let author = &all["data"][3]["by"];
    assert_eq!((&all["data"][0]["createdBy"], &all["data"][3]["createdBy"]), (author, author));
    assert_eq!(all["data"][0]["overrides"], json!([]));
    assert_eq!(all["data"][3]["by"]["id"], fixture.owner.user.as_str());
    let live = get(&fixture, PRODUCTION).await["data"]["live"].take();
    assert_eq!((&live["deploymentId"], &live["rollback"]), (&json!(ids[0]), &json!(true)));
    assert_eq!(live["by"], all["data"][0]["by"]);
    fixture.end().await;
}

#[tokio::test]
async fn the_list_follows_the_current_definition_and_removed_environments_stay_readable() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, RELEASE).await;
    let list = get(&fixture, ENVIRONMENTS).await;
    assert_eq!(names(&list), ["staging", "production"]);
    assert_eq!(list["data"][1]["branches"], json!(["main"]));
    assert_eq!(list["pagination"], json!({ "limit": 20, "offset": 0, "total": 2 }));
    let second = get(&fixture, &format!("{ENVIRONMENTS}?limit=1&offset=1")).await;
    assert_eq!((names(&second), &second["pagination"]["total"]), (vec!["production"], &json!(2)));

    let body = json!({ "definition": WITHOUT_PRODUCTION });
    let (status, saved) = fixture.call(Method::PUT, "/pipelines/shop", body).await;
    assert_eq!(status, 200, "{saved}");
    let list = get(&fixture, ENVIRONMENTS).await;
    assert_eq!(names(&list), ["zone-b", "staging"]);
    assert_eq!(list["pagination"]["total"], 2);
    let removed = get(&fixture, PRODUCTION).await["data"].take();
    assert_eq!((&removed["url"], &removed["branches"]), (&json!(null), &json!([])));
    assert_eq!(get(&fixture, &format!("{PRODUCTION}/history")).await["pagination"]["total"], 0);
    for path in ["no-such", "no-such/history", "Production"] {
        let (status, refused) =
            fixture.call(Method::GET, &format!("{ENVIRONMENTS}/{path}"), Value::Null).await;
        assert_eq!((status, &refused["code"]), (404, &json!("not_found")), "{path}: {refused}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn the_list_of_all_pipelines_is_filtered_by_pipeline_and_live_commit() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = fixture(&pool).await;
    let body = json!({ "name": "Api", "slug": "api", "definition": RELEASE });
    let (status, made) = fixture.call(Method::POST, "/pipelines", body).await;
    assert_eq!(status, 201, "{made}");
    let id = start(&fixture, "0123abc").await;
    assert!(fixture.run_next_job(&id, 0).await.ended);

    let places = async |query: &str| {
        let list = get(&fixture, &format!("/environments{query}")).await;
        let records = list["data"].as_array().unwrap().iter();
        let text = |record: &Value, name: &str| record[name].as_str().unwrap().to_owned();
        let places: Vec<_> =
            records.map(|record| text(record, "pipelineSlug") + "/" + &text(record, "name")).collect();
        (places, list["pagination"]["total"].as_i64().unwrap())
    };
    let all = ["api/staging", "api/production", "shop/staging", "shop/production"];
    let all = all.map(str::to_owned).to_vec();
    for query in ["", "?kind=lasting"] {
        assert_eq!(places(query).await, (all.clone(), 4));
    }
    assert_eq!(places("?limit=2&offset=1").await, (all[1..3].to_vec(), 4));
    assert_eq!(places("?pipelineId=shop").await, (all[2..].to_vec(), 2));
    assert_eq!(places(&format!("?pipelineId={}", fixture.pipeline)).await, (all[2..].to_vec(), 2));
    for query in ["?commitId=0123abc", "?commitId=0123&kind=lasting&pipelineId=shop"] {
        assert_eq!(places(query).await, (all[3..].to_vec(), 1));
    }
    for query in ["?commitId=123abc", "?commitId=0123&pipelineId=api", "?pipelineId=no-such"] {
        assert_eq!(places(query).await, (vec![], 0));
    }
    let (status, _) = fixture.call(Method::DELETE, "/pipelines/api", json!({})).await;
    assert_eq!(status, 200);
    assert_eq!(places("").await, (all[2..].to_vec(), 2), "those of archived pipelines are not listed");
    fixture.end().await;
}

#[tokio::test]
async fn holds_and_freezes_are_shown_while_they_last() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = fixture(&pool).await;
    let hold = async |until: &str| {
        let statement = "update lasting_environments
            set held_by = $1, held_by_name = 'Ada', held_reason = 'Migrating', held_since = '2026-01-01T00:00:00Z',
                held_until = $2::timestamptz
            where name = 'production'";
        let user: greenroom_domain::id::UserId = fixture.owner.user.parse().unwrap();
        let held = sqlx::query(statement).bind(user.uuid()).bind(until).execute(&pool).await.unwrap();
        assert_eq!(held.rows_affected(), 1);
        get(&fixture, PRODUCTION).await["data"]["hold"].take()
    };
    let held = json!({
        "by": { "id": fixture.owner.user, "name": "Ada" }, "reason": "Migrating", "since": "2026-01-01T00:00:00Z",
        "until": "2190-01-01T00:00:00Z",
    });
    assert_eq!(hold("2190-01-01T00:00:00Z").await, held);
    assert_eq!(hold("2026-01-02T00:00:00Z").await, json!(null), "its time is over");

    let freeze = async |name: &str, to: &str, pipelines: Value| {
        let body = json!({
            "name": name, "reason": "Because", "environments": ["production"], "pipelines": pipelines,
            "from": "2020-01-01T00:00:00Z", "to": to,
        });
        let (status, made) = fixture.call(Method::POST, "/freezes", body).await;
        assert_eq!(status, 201, "{made}");
        made["data"]["id"].as_str().unwrap().to_owned()
    };
    let body = json!({ "name": "Api", "slug": "api", "definition": RELEASE });
    let (_, other) = fixture.call(Method::POST, "/pipelines", body).await;
    freeze("Over", "2021-01-01T00:00:00Z", json!([])).await;
    freeze("Short", "2180-01-01T00:00:00Z", json!([])).await;
    let long = freeze("Long", "2190-01-01T00:00:00Z", json!([fixture.pipeline])).await;
    let expected =
        json!({ "id": long, "name": "Long", "reason": "Because", "until": "2190-01-01T00:00:00Z" });
    assert_eq!(
        get(&fixture, PRODUCTION).await["data"]["freeze"],
        expected,
        "of several the one that ends last"
    );
    let list = get(&fixture, "/environments").await;
    let shown: Vec<_> =
        list["data"].as_array().unwrap().iter().map(|record| &record["freeze"]["name"]).collect();
    assert_eq!(shown, [&json!(null), &json!("Short"), &json!(null), &json!("Long")], "{other}");
    let (status, _) = fixture.call(Method::DELETE, &format!("/freezes/{long}"), json!({})).await;
    assert_eq!(status, 200);
    assert_eq!(get(&fixture, PRODUCTION).await["data"]["freeze"]["name"], "Short");
    fixture.end().await;
}

/// Rows that the migration has made live have no entry in the history.
#[tokio::test]
async fn what_was_live_before_the_history_existed_is_shown() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = fixture(&pool).await;
    let id = start(&fixture, "0123abc").await;
    assert!(fixture.run_next_job(&id, 0).await.ended);
    sqlx::query("delete from environment_deployments").execute(&pool).await.unwrap();
    let live = get(&fixture, PRODUCTION).await["data"]["live"].take();
    assert_eq!((&live["deploymentId"], &live["rollback"]), (&json!(id), &json!(false)));
    assert_eq!(live["by"]["id"], fixture.owner.user.as_str());
    fixture.end().await;
}
