//! Credentials for checkouts that are limited to repositories: a maintainer points a pipeline at another repository of the
//! host, or a runner requests one.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;

const HOST: &str = "git.test:8443";
const SHOP: &str = "https://git.test:8443/acme/shop.git";
const PAYROLL: &str = "https://git.test:8443/acme/payroll.git";
const DEFINITION: &str = "stages: { build: { steps: [{ image: a, run: b }] } }";
const WITH_SUBMODULES: &str =
    "stages: { build: { submodules: ['git.test:8443'], steps: [{ image: a, run: b }] } }";

/// Creates a credential of the organization. Returns its id.
async fn create(fixture: &DeploymentFixture, name: &str, repositories: Value) -> String {
    let policy = json!({ "pipelines": [fixture.pipeline], "repositories": repositories });
    let usage = json!({ "kind": "checkout", "host": HOST });
    let body = json!({ "name": name, "value": format!("bot:{name}"), "use": usage, "policy": policy });
    let (status, made) = fixture.call(Method::POST, "/secrets", body).await;
    assert_eq!(status, 201, "{made}");
    made["data"]["id"].as_str().unwrap().to_owned()
}

/// Changes the pipeline, as a maintainer.
async fn edit(fixture: &DeploymentFixture, change: Value) {
    let maintainer = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let path = "/organizations/acme/pipelines/shop";
    let (status, edited) = fixture.server.json(Method::PUT, path, &maintainer.token, Some(change)).await;
    assert_eq!(status, 200, "{edited}");
}

async fn job(fixture: &DeploymentFixture) -> Job {
    let id = fixture.start().await;
    fixture.take(&fixture.advance(&id).await).await
}

/// Requests the credential of a job. Returns its name, or the rule that denies it.
async fn requested(
    fixture: &DeploymentFixture,
    job: &Job,
    repository: Option<&str>,
) -> Result<String, String> {
    let mut body = json!({ "kind": "checkout", "host": HOST });
    if let Some(address) = repository {
        body["repository"] = json!(address);
    }
    let (status, found) = fixture.report(job, "/credentials", body).await;
    assert_eq!(status, 200, "{found}");
    match found["data"]["denied"].as_str() {
        Some(denied) => {
            assert_eq!(found["data"]["credential"], json!(null));
            Err(denied.to_owned())
        }
        None => Ok(found["data"]["credential"]["name"].as_str().unwrap_or("none").to_owned()),
    }
}

async fn reads(fixture: &DeploymentFixture, secret: &str) -> usize {
    let (_, found) = fixture.call(Method::GET, &format!("/secrets/{secret}/reads"), Value::Null).await;
    found["data"].as_array().unwrap().len()
}

/// Without rules for repositories, a maintainer could print every repository of a host with one credential for it.
#[tokio::test]
async fn another_repository_of_the_host_gets_no_credential() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let secret = create(&fixture, "forge", json!(["git.test:8443/ACME/shop"])).await;
    edit(&fixture, json!({ "repository": SHOP })).await;
    let own = job(&fixture).await;
    // A runner of an earlier version does not name the repository.
    for repository in [Some(SHOP), None] {
        assert_eq!(requested(&fixture, &own, repository).await.as_deref(), Ok("forge"), "{repository:?}");
    }
    assert_eq!(reads(&fixture, &secret).await, 1);
    // A runner that names what its job does not fetch.
    for address in [PAYROLL, "https://git.test:8443/acme/shop/../payroll", "", "https://evil.test/acme/shop"]
    {
        let denied = requested(&fixture, &own, Some(address)).await.unwrap_err();
        assert!(denied.contains("`forge`") && denied.contains("rule `repositories`"), "{address}: {denied}");
    }

    edit(&fixture, json!({ "repository": PAYROLL })).await;
    // The job was assigned before the change. What it fetches now has to be the pipeline's repository still.
    assert!(requested(&fixture, &own, Some(SHOP)).await.is_err());
    let other = job(&fixture).await;
    for repository in [Some(PAYROLL), Some(SHOP), None] {
        let denied = requested(&fixture, &other, repository).await.unwrap_err();
        assert!(denied.contains("rule `repositories`") && !denied.contains("bot:"), "{denied}");
    }
    assert_eq!(reads(&fixture, &secret).await, 1);

    // A new rule holds from the next request on.
    let everything = json!({ "policy": { "pipelines": [fixture.pipeline], "repositories": [HOST] } });
    let (status, saved) = fixture.call(Method::PATCH, &format!("/secrets/{secret}"), everything).await;
    assert_eq!((status, &saved["warnings"][0]["code"]), (200, &json!("all_repositories")), "{saved}");
    assert_eq!(requested(&fixture, &other, Some(PAYROLL)).await.as_deref(), Ok("forge"));
    fixture.end().await;
}

#[tokio::test]
async fn the_most_specific_credential_is_chosen() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    create(&fixture, "any", Value::Null).await;
    create(&fixture, "of-acme", json!(["git.test:8443/acme", "git.test:8443/oss/lib"])).await;
    create(&fixture, "of-payroll", json!(["git.test:8443/acme/payroll"])).await;
    for (repository, expected) in [
        (SHOP, "of-acme"),
        (PAYROLL, "of-payroll"),
        ("https://git.test:8443/oss/lib", "of-acme"),
        ("https://git.test:8443/oss/other", "any"),
    ] {
        edit(&fixture, json!({ "repository": repository })).await;
        let job = job(&fixture).await;
        assert_eq!(requested(&fixture, &job, Some(repository)).await.as_deref(), Ok(expected));
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_submodule_gets_the_credential_of_its_own_repository() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, WITH_SUBMODULES).await;
    create(&fixture, "of-shop", json!(["git.test:8443/acme/shop"])).await;
    create(&fixture, "of-oss", json!(["git.test:8443/oss"])).await;
    edit(&fixture, json!({ "repository": SHOP })).await;
    let job = job(&fixture).await;
    let lib = "https://git.test:8443/oss/lib.git";
    assert_eq!(requested(&fixture, &job, Some(SHOP)).await.as_deref(), Ok("of-shop"));
    assert_eq!(requested(&fixture, &job, Some(lib)).await.as_deref(), Ok("of-oss"));
    assert!(requested(&fixture, &job, Some(PAYROLL)).await.is_err());
    // It can't be known which of them a runner of an earlier version fetches.
    assert!(requested(&fixture, &job, None).await.is_err());
    fixture.end().await;
}
