//! Secrets of steps: which one a step gets, when, and what is recorded. Written from what an attacker tries
//! first: getting a secret after the environment was taken, on another pool or branch, or twice.

use std::time::Duration;

use greenroom_app::sign_in::SignInSettings;
use greenroom_keys::{KeySource, Keys};
use greenroom_server::http::Limits;
use greenroom_server::secret_keys::{reseal, rewrap_keys};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};

use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;
use crate::support::{Caller, MASTER_KEY, TestServer};

const SHOP: &str = r#"
environments: { production: {} }
ephemeralEnvironments:
  qa-1: { stages: [deploy] }
  "pr-*": { max: 3, stages: [deploy] }
stages:
  deploy:
    steps:
      - { image: a, run: b, secrets: { KEY: deploy-key, CONFIG: { secret: config, file: true } } }
      - { image: a, run: b, secrets: { KEY: deploy-key } }
  release:
    environment: production
    needs: [deploy]
    steps: [{ image: a, run: b }]
"#;

/// `value` in base64, for these few values.
const BASE64: [(&str, &str); 5] = [
    ("for everything", "Zm9yIGV2ZXJ5dGhpbmc="),
    ("for the shop", "Zm9yIHRoZSBzaG9w"),
    ("for pr-*", "Zm9yIHByLSo="),
    ("for qa-1", "Zm9yIHFhLTE="),
    ("configuration", "Y29uZmlndXJhdGlvbg=="),
];

fn base64(value: &str) -> &'static str {
    BASE64.iter().find(|(plain, _)| *plain == value).unwrap().1
}

async fn create(fixture: &DeploymentFixture, body: Value) -> String {
    let (status, made) = fixture.call(Method::POST, "/secrets", body).await;
    assert_eq!(status, 201, "{made}");
    made["data"]["id"].as_str().unwrap().to_owned()
}

/// Creates `config`, and `deploy-key` of the pipeline. Returns the latter.
async fn create_both(fixture: &DeploymentFixture, policy: Value) -> String {
    create(fixture, json!({ "name": "config", "value": "configuration" })).await;
    let key =
        json!({ "name": "deploy-key", "pipelineId": "shop", "value": "for the shop", "policy": policy });
    create(fixture, key).await
}

async fn start(fixture: &DeploymentFixture, job: &Job, step: usize) -> (u16, Value) {
    fixture.report(job, &format!("/steps/{}/start", job.steps[step]), json!({})).await
}

async fn end(fixture: &DeploymentFixture, job: &Job, step: usize) {
    let body = json!({ "status": "succeeded", "exitCode": 0 });
    let (status, response) = fixture.report(job, &format!("/steps/{}/end", job.steps[step]), body).await;
    assert_eq!(status, 200, "{response}");
}

async fn reads(fixture: &DeploymentFixture, secret: &str) -> Vec<Value> {
    let (status, list) = fixture.call(Method::GET, &format!("/secrets/{secret}/reads"), Value::Null).await;
    assert_eq!(status, 200, "{list}");
    list["data"].as_array().unwrap().clone()
}

async fn stage(fixture: &DeploymentFixture, id: &str, at: usize) -> Value {
    fixture.deployment(id).await["stages"][at].clone()
}

#[tokio::test]
async fn a_step_gets_its_secrets_when_it_starts_and_a_repeated_start_the_same() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let key = create_both(&fixture, Value::Null).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(reads(&fixture, &key).await, Vec::<Value>::new(), "an assigned job has read nothing");
    let (status, first) = start(&fixture, &job, 0).await;
    assert_eq!(status, 200, "{first}");
    let expected = json!({ "secrets": [
        { "variable": "CONFIG", "name": "config", "value": base64("configuration"), "file": true },
        { "variable": "KEY", "name": "deploy-key", "value": base64("for the shop"), "file": false },
    ] });
    assert_eq!(first["data"], expected);

    // Rotated while the first step runs: its repeated start gets what it got, the next step the new version.
    let path = format!("/secrets/{key}/value");
    let (status, set) = fixture.call(Method::PUT, &path, json!({ "value": "for qa-1" })).await;
    assert_eq!(status, 200, "{set}");
    assert_eq!(start(&fixture, &job, 0).await, (200, first));
    end(&fixture, &job, 0).await;
    let (_, second) = start(&fixture, &job, 1).await;
    assert_eq!(second["data"]["secrets"][0]["value"], base64("for qa-1"));

    let found = reads(&fixture, &key).await;
    let found: Vec<_> = found.iter().map(|read| (&read["stepRunId"], &read["version"])).collect();
    assert_eq!(found, [(&json!(job.steps[1]), &json!(2)), (&json!(job.steps[0]), &json!(1))]);
    let (_, list) = fixture.call(Method::GET, &format!("/deployments/{id}/secret-reads"), Value::Null).await;
    let names: Vec<_> = list["data"].as_array().unwrap().iter().collect();
    let names: Vec<_> = names.iter().map(|read| (&read["secretName"], &read["versionStatus"])).collect();
    let [active, retired] = [json!("active"), json!("retired")];
    let (config, deploy_key) = (json!("config"), json!("deploy-key"));
    let mut expected = vec![(&config, &active), (&deploy_key, &retired), (&deploy_key, &active)];
    if names[0].0 != "config" {
        expected.swap(0, 1);
    }
    assert_eq!(names, expected);
    end(&fixture, &job, 1).await;
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    fixture.run_next_job(&id, 0).await;
    let record = fixture.deployment(&id).await;
    assert_eq!(record["status"], "succeeded");
    assert!(!record.to_string().contains("for the shop"));
    fixture.end().await;
}

#[tokio::test]
async fn the_narrowest_scope_wins() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    create(&fixture, json!({ "name": "config", "value": "configuration" })).await;
    let got = async |environment: Option<&str>| {
        let (session, id) = match environment {
            Some(name) => {
                let (session, id) = fixture.claim(name, &fixture.owner, "sessions").await;
                (Some((name, session)), id)
            }
            None => (None, fixture.start().await),
        };
        let job = fixture.take(&fixture.advance(&id).await).await;
        let (status, started) = start(&fixture, &job, 0).await;
        assert_eq!(status, 200, "{started}");
        assert_eq!(fixture.report(&job, "/complete", json!({ "error": "enough" })).await.0, 200);
        fixture.advance(&id).await;
        if let Some((name, session)) = session {
            fixture.release(name, &fixture.owner, &session).await;
        }
        started["data"]["secrets"][1]["value"].clone()
    };
    create(&fixture, json!({ "name": "deploy-key", "value": "for everything" })).await;
    assert_eq!(got(None).await, base64("for everything"));
    for (environment, value) in
        [(None, "for the shop"), (Some("pr-*"), "for pr-*"), (Some("qa-1"), "for qa-1")]
    {
        let body =
            json!({ "name": "deploy-key", "pipelineId": "shop", "environment": environment, "value": value });
        create(&fixture, body).await;
    }
    assert_eq!(got(None).await, base64("for the shop"));
    assert_eq!(got(Some("pr-7")).await, base64("for pr-*"));
    assert_eq!(got(Some("qa-1")).await, base64("for qa-1"));
    fixture.end().await;
}

#[tokio::test]
async fn a_missing_or_denied_secret_fails_the_stage_before_a_runner_gets_it() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let id = fixture.start().await;
    let advance = fixture.advance(&id).await;
    assert!(advance.ended && advance.dispatch.is_empty());
    let failed = stage(&fixture, &id, 0).await;
    assert_eq!(
        (&failed["status"], &failed["reason"]),
        (&json!("failed"), &json!("secret_missing")),
        "{failed}"
    );
    let detail = failed["detail"].as_str().unwrap();
    let place = format!("POST /api/v1/organizations/{}/secrets", fixture.owner.organization);
    assert!(detail.contains(&place) && detail.contains("`config`"), "{detail}");

    // After it was created, the stage can be retried.
    let key = create_both(&fixture, json!({ "pools": ["production"] })).await;
    let retry = format!("/deployments/{id}/stages/deploy/retry");
    assert_eq!(fixture.call(Method::POST, &retry, json!({})).await.0, 202);
    fixture.advance(&id).await;
    let failed = stage(&fixture, &id, 0).await;
    assert_eq!(failed["reason"], "secret_denied", "{failed}");
    let detail = failed["detail"].as_str().unwrap();
    assert!(detail.contains("`pools`") && detail.contains(&key), "{detail}");
    let change = json!({ "policy": { "environments": ["qa-1"] } });
    assert_eq!(fixture.call(Method::PATCH, &format!("/secrets/{key}"), change).await.0, 200);
    assert_eq!(fixture.call(Method::POST, &retry, json!({})).await.0, 202);
    fixture.advance(&id).await;
    assert_eq!(stage(&fixture, &id, 0).await["reason"], "secret_denied");
    assert_eq!(
        fixture.call(Method::PATCH, &format!("/secrets/{key}"), json!({ "policy": null })).await.0,
        200
    );
    assert_eq!(fixture.call(Method::POST, &retry, json!({})).await.0, 202);
    let job = fixture.take(&fixture.advance(&id).await).await;
    let (status, started) = start(&fixture, &job, 0).await;
    assert_eq!((status, stage(&fixture, &id, 0).await["detail"].clone()), (200, json!(null)), "{started}");
    assert_eq!(reads(&fixture, &key).await.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn a_secret_that_is_denied_after_the_job_was_assigned_is_not_handed_out() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let key = create_both(&fixture, Value::Null).await;
    for (at, (method, path, body, reason)) in [
        (
            Method::PATCH,
            format!("/secrets/{key}"),
            json!({ "policy": { "pools": ["other"] } }),
            "secret_denied",
        ),
        (Method::DELETE, format!("/secrets/{key}"), json!({}), "secret_missing"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = fixture.start().await;
        let job = fixture.take(&fixture.advance(&id).await).await;
        assert_eq!(fixture.call(method, &path, body).await.0, 200);
        let (status, refused) = start(&fixture, &job, 0).await;
        assert_eq!((status, refused["code"].as_str()), (410, Some("job_gone")), "{refused}");
        assert!(refused.get("data").is_none() && !refused.to_string().contains(base64("configuration")));
        assert_eq!(start(&fixture, &job, 0).await.0, 410, "the job has ended");
        let advance = fixture.advance(&id).await;
        assert!(advance.ended);
        let failed = stage(&fixture, &id, 0).await;
        assert_eq!(
            (&failed["status"], &failed["reason"]),
            (&json!("failed"), &json!(reason)),
            "{at}: {failed}"
        );
        assert_eq!(failed["steps"][0]["status"], "failed");
        assert!(failed["detail"].as_str().unwrap().contains("`deploy-key`"), "{failed}");
        let lift = json!({ "policy": null });
        fixture.call(Method::PATCH, &format!("/secrets/{key}"), lift).await;
    }
    assert_eq!(reads(&fixture, &key).await, Vec::<Value>::new(), "nothing was handed out");
    fixture.end().await;
}

#[tokio::test]
async fn a_job_that_has_lost_its_environment_gets_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let key = create_both(&fixture, Value::Null).await;
    let (_, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let (status, first) = start(&fixture, &job, 0).await;
    assert_eq!(status, 200, "{first}");
    end(&fixture, &job, 0).await;
    let thief: Caller = fixture.server.member(&fixture.owner, "acme", "developer").await;
    fixture.claim("qa-1", &thief, "force-claim").await;
    for step in [1, 0] {
        let (status, refused) = start(&fixture, &job, step).await;
        assert!(matches!(status, 409 | 410) && refused.get("data").is_none(), "{refused}");
    }
    assert_eq!(reads(&fixture, &key).await.len(), 1, "only the step before the override has read it");
    fixture.end().await;
}

#[tokio::test]
async fn a_branch_counts_only_if_the_checkout_has_proven_it() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    create_both(&fixture, json!({ "branches": ["main"] })).await;
    let deploy = async |branch: Value| {
        let body = json!({ "commitId": "0123abc", "branch": branch });
        let (status, made) = fixture.call(Method::POST, "/pipelines/shop/deployments", body).await;
        assert_eq!(status, 202, "{made}");
        made["data"]["id"].as_str().unwrap().to_owned()
    };
    // Without a repository nothing can be proven, whatever the deployment names.
    let id = deploy(json!("main")).await;
    fixture.advance(&id).await;
    assert_eq!(stage(&fixture, &id, 0).await["reason"], "secret_denied");

    sqlx::query("update pipelines set repository = 'https://git.test/shop'").execute(&pool).await.unwrap();
    let id = deploy(json!("feature")).await;
    fixture.advance(&id).await;
    assert_eq!(stage(&fixture, &id, 0).await["reason"], "secret_denied", "known when it is planned");
    let commit = "0123abc".to_owned() + &"0".repeat(33);
    for (named, reported, is_accepted, expected) in [
        (json!("main"), json!("main"), true, 200),
        (json!(null), json!(null), true, 410),
        (json!(null), json!("feature"), false, 410),
        (json!(null), json!("main"), false, 410),
    ] {
        let id = deploy(named.clone()).await;
        let job = fixture.take(&fixture.advance(&id).await).await;
        if named == "main" {
            assert_eq!(start(&fixture, &job, 0).await.0, 409, "nothing was proven yet");
        }
        let checkout = json!({ "commitId": commit, "branch": reported });
        let (status, response) = fixture.report(&job, "/checkout", checkout).await;
        assert_eq!(status, if is_accepted { 200 } else { 422 }, "{named} {reported}: {response}");
        let (status, started) = start(&fixture, &job, 0).await;
        assert_eq!(status, expected, "{named} {reported}: {started}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn without_its_key_a_step_does_not_start_and_no_read_is_recorded() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let key = create_both(&fixture, Value::Null).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let without = server_with(&pool, Keys::default()).await;
    let (status, refused) = start_at(&without, &fixture, &job, 0).await;
    assert_eq!((status, refused["code"].as_str()), (503, Some("secrets_unavailable")), "{refused}");
    assert_eq!(reads(&fixture, &key).await, Vec::<Value>::new());
    assert_eq!(stage(&fixture, &id, 0).await["steps"][0]["status"], "pending");
    // A server that has the key starts it.
    assert_eq!(start(&fixture, &job, 0).await.0, 200);
    without.server.stop(Duration::ZERO).await;
    fixture.end().await;
}

async fn server_with(pool: &PgPool, keys: Keys) -> TestServer {
    let url = pool.connect_options().to_url_lossy();
    let limits = Limits::new(Duration::from_secs(15), 512);
    TestServer::start_with_keys(url.as_str(), limits, SignInSettings::default(), keys).await
}

/// Starts a step at another server than that of the fixture.
async fn start_at(server: &TestServer, fixture: &DeploymentFixture, job: &Job, step: usize) -> (u16, Value) {
    let path = format!("/steps/{}/start", job.steps[step]);
    let url = format!("{}/runner/jobs/{}{path}", server.base, job.id);
    let request = fixture.request_by(Method::POST, job, &path).build().unwrap();
    let response = server.client.post(url).headers(request.headers().clone()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn master_and_data_keys_are_replaced_while_steps_start() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    create_both(&fixture, Value::Null).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let (_, first) = start(&fixture, &job, 0).await;
    let new_key = "new:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
    let keys =
        async |list: &str| Keys::load(Some(KeySource::Command(format!("printf '{list}'")))).await.unwrap();
    let both = keys(&format!("{new_key}\\n{MASTER_KEY}\\n")).await;
    let store = &fixture.server.server.app.store;
    assert_eq!(rewrap_keys(store, &both).await.unwrap(), json!({ "masterKey": "new", "rewrapped": 1 }));
    assert_eq!(rewrap_keys(store, &both).await.unwrap()["rewrapped"], 0);
    // The old key is not needed any more.
    let only_new = server_with(&pool, keys(new_key).await).await;
    assert_eq!(start_at(&only_new, &fixture, &job, 0).await, (200, first.clone()));
    assert_eq!(start(&fixture, &job, 0).await.0, 503, "a server that has the old key only");

    let resealed = reseal(store, &keys(new_key).await, &"acme".parse().unwrap()).await.unwrap();
    assert_eq!(resealed["resealed"], 2);
    assert_eq!(start_at(&only_new, &fixture, &job, 0).await, (200, first));
    let used: Vec<i64> = sqlx::query_scalar(
        "select count(*) from secret_versions v join organization_keys k on k.id = v.key_id group by k.retired_at is null",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert_eq!(used, [2], "all values have the new key");
    only_new.server.stop(Duration::ZERO).await;
    fixture.end().await;
}

#[tokio::test]
async fn a_credential_of_the_platform_is_for_the_runner_and_its_host_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    create(&fixture, json!({ "name": "config", "value": "configuration" })).await;
    let usage = json!({ "kind": "checkout", "host": "git.test:8443" });
    let body = json!({ "name": "deploy-key", "pipelineId": "shop", "value": "for the shop", "use": usage });
    let secret = create(&fixture, body).await;
    let id = fixture.start().await;
    fixture.advance(&id).await;
    let failed = stage(&fixture, &id, 0).await;
    assert_eq!(failed["reason"], "secret_denied");
    assert!(failed["detail"].as_str().unwrap().contains("rule `use`"), "{failed}");
    let key =
        json!({ "name": "deploy-key", "pipelineId": "shop", "environment": "qa-1", "value": "for qa-1" });
    create(&fixture, key).await;

    let (_, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let read = async |job: &Job, kind: &str, host: &str| {
        fixture.report(job, "/credentials", json!({ "kind": kind, "host": host })).await
    };
    for (kind, host) in
        [("checkout", "git.test"), ("checkout", "evil.test:8443"), ("registry", "git.test:8443")]
    {
        let (status, none) = read(&job, kind, host).await;
        assert_eq!((status, &none["data"]), (200, &json!({ "credential": null })), "{kind} {host}");
    }
    assert_eq!(read(&job, "checkout", "https://git.test").await.0, 422);
    assert_eq!(reads(&fixture, &secret).await, Vec::<Value>::new());
    let expected = json!({ "credential": { "name": "deploy-key", "value": base64("for the shop") } });
    for _ in 0..2 {
        assert_eq!(read(&job, "checkout", "Git.test:8443").await.1["data"], expected);
    }
    let found = reads(&fixture, &secret).await;
    assert_eq!((found.len(), &found[0]["stepRunId"]), (1, &json!(null)));
    assert_eq!(read(&fixture.forged_job(), "checkout", "git.test:8443").await.0, 410);
    let thief = fixture.server.member(&fixture.owner, "acme", "developer").await;
    fixture.claim("qa-1", &thief, "force-claim").await;
    let (status, refused) = read(&job, "checkout", "git.test:8443").await;
    assert!(matches!(status, 409 | 410) && refused.get("data").is_none(), "{refused}");
    fixture.end().await;
}

#[tokio::test]
async fn a_swapped_row_does_not_open() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    create_both(&fixture, Value::Null).await;
    create(&fixture, json!({ "name": "deploy-key", "value": "for everything" })).await;
    // An attacker with access to the database gives the pipeline's secret the value of another one.
    let swap = "update secret_versions v set nonce = o.nonce, sealed = o.sealed, key_id = o.key_id
                from secret_versions o join secrets s on s.id = o.secret_id
                where s.name = 'deploy-key' and s.scope = 'organization'
                  and v.secret_id = (select id from secrets where name = 'deploy-key' and scope = 'pipeline')";
    assert_eq!(sqlx::query(swap).execute(&pool).await.unwrap().rows_affected(), 1);
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let (status, refused) = start(&fixture, &job, 0).await;
    assert_eq!((status, refused["code"].as_str()), (503, Some("secrets_unavailable")), "{refused}");
    fixture.end().await;
}
