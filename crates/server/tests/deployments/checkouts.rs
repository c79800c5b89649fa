//! Reports of a checkout: the full id of the requested commit, which is stored once, the branch that had to be proven, and
//! failures that a retry cannot fix.

use reqwest::Method;
use serde_json::json;

use crate::fixture::DeploymentFixture;
use crate::runs::DIAMOND;
use crate::support::database::TestDatabase;

const COMMIT: &str = "0123abc000000000000000000000000000000000";

#[tokio::test]
async fn only_the_full_id_of_the_requested_commit_is_accepted_and_stored_once() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    for commit in [
        "0123abcd",
        "0123abc$(id) NOT A COMMIT",
        "0123ABC000000000000000000000000000000000",
        "0123abc00000000000000000000000000000000\u{0}",
        "ffffffffffffffffffffffffffffffffffffffff",
        &"0".repeat(64),
    ] {
        for path in ["/checkout", "/complete"] {
            let (status, response) = fixture.report(&job, path, json!({ "commitId": commit })).await;
            assert_eq!(
                (status, response["errors"][0]["pointer"].as_str()),
                (422, Some("/commitId")),
                "{response}"
            );
        }
    }
    assert_eq!(fixture.deployment(&id).await["commitId"], "0123abc");
    for _ in 0..2 {
        let (status, response) = fixture.report(&job, "/checkout", json!({ "commitId": COMMIT })).await;
        assert_eq!(status, 200, "{response}");
    }
    assert_eq!(fixture.deployment(&id).await["commitId"], COMMIT);
    let other = COMMIT.replace("000000", "111111");
    assert_eq!(fixture.report(&job, "/checkout", json!({ "commitId": other })).await.0, 422);
    assert_eq!(fixture.report(&job, "/complete", json!({ "commitId": other })).await.0, 422);
    for branch in ["", "a b", "a\u{0}", "-x", "a:b"] {
        let body = json!({ "commitId": COMMIT, "branch": branch });
        let (status, response) = fixture.report(&job, "/checkout", body).await;
        assert_eq!((status, response["errors"][0]["pointer"].as_str()), (422, Some("/branch")), "{response}");
    }
    assert_eq!(fixture.deployment(&id).await["commitId"], COMMIT);
    fixture.run_job(&job, 0).await;
    assert_eq!(fixture.report(&job, "/checkout", json!({ "commitId": COMMIT })).await.0, 410);
    fixture.end().await;
}

#[tokio::test]
async fn a_failure_that_a_retry_cannot_fix_ends_the_first_attempt() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    for reason in [
        "commit_not_found",
        "commit_not_on_branch",
        "repository_unavailable",
        "checkout_host_not_allowed",
        "image_not_found",
        "step_digest_mismatch",
    ] {
        let id = fixture.start().await;
        let job = fixture.take(&fixture.advance(&id).await).await;
        let body = json!({ "error": "the checkout failed: it is so", "failure": reason });
        assert_eq!(fixture.report(&job, "/complete", body).await.0, 200);
        assert!(fixture.advance(&id).await.ended);
        let record = fixture.deployment(&id).await;
        assert_eq!((record["status"].as_str(), record["reason"].as_str()), (Some("failed"), Some(reason)));
        let stage = &record["stages"][0];
        assert_eq!(
            (&stage["status"], &stage["reason"], &stage["attempt"]),
            (&json!("failed"), &json!(reason), &json!(1))
        );
        assert_eq!(stage["detail"], "the checkout failed: it is so");
        assert_eq!(stage["steps"][0]["status"], "skipped");
    }
    fixture.end().await;
}

const SHOP: &str = r#"
environments:
  production: { branches: [main, hotfix] }
  preview: {}
ephemeralEnvironments: { qa-1: { stages: [build] } }
stages:
  build: { steps: [{ image: a, run: b }] }
  show: { needs: [build], environment: preview, steps: [{ image: a, run: b }] }
  release: { needs: [show], environment: production, steps: [{ image: a, run: b }] }
"#;

/// A stage, the branches that its jobs may report, and the beginning of the refusal of others.
type AcceptedBranches = (&'static str, &'static [&'static str], &'static str);

/// Every branch that a runner may report, by the branch that the deployment names and the stage.
#[tokio::test]
async fn only_a_branch_that_the_job_has_to_prove_is_accepted() {
    const NOTHING: &str = "must be null";
    const NAMED: &str = "must be `hotfix`, the branch that the deployment names";
    const ALLOWED: &str = "must be one of the environment's branches: `main`, `hotfix`";
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    sqlx::query("update pipelines set repository = 'https://git.test/shop'").execute(&pool).await.unwrap();
    let path = format!("/pipelines/{}/deployments", fixture.pipeline);
    let cases: [(Option<&str>, [AcceptedBranches; 3]); 2] = [
        (
            None,
            [
                ("build", &[], NOTHING),
                ("show", &["main", "hotfix", "x"], ""),
                ("release", &["main", "hotfix"], ALLOWED),
            ],
        ),
        (
            Some("hotfix"),
            [("build", &["hotfix"], NAMED), ("show", &["hotfix"], NAMED), ("release", &["hotfix"], NAMED)],
        ),
    ];
    for (named, stages) in cases {
        let body = json!({ "commitId": "0123abc", "branch": named });
        let (status, made) = fixture.call(Method::POST, &path, body).await;
        assert_eq!(status, 202, "{made}");
        let id = made["data"]["id"].as_str().unwrap().to_owned();
        for (stage, accepted, refusal) in stages {
            let job = fixture.take(&fixture.advance(&id).await).await;
            for branch in ["x", "hot", "main", "hotfix"] {
                let checkout = json!({ "commitId": COMMIT, "branch": branch });
                let (status, response) = fixture.report(&job, "/checkout", checkout).await;
                let what = format!("{named:?} {stage} {branch}: {response}");
                let is_accepted = accepted.contains(&branch) || accepted.contains(&"x");
                assert_eq!(status, if is_accepted { 200 } else { 422 }, "{what}");
                if !is_accepted {
                    let error = &response["errors"][0];
                    assert_eq!(error["pointer"], "/branch", "{what}");
                    assert!(error["detail"].as_str().unwrap().contains(refusal), "{what}");
                }
            }
            let proven = "select proven_branch from jobs where id = $1";
            let proven: Option<String> =
                sqlx::query_scalar(proven).bind(job.id.uuid()).fetch_one(&pool).await.unwrap();
            assert_eq!(
                proven.as_deref(),
                accepted.contains(&"hotfix").then_some("hotfix"),
                "{named:?} {stage}"
            );
            fixture.run_job(&job, 0).await;
        }
        assert!(fixture.advance(&id).await.ended);
    }
    fixture.end().await;
}

/// A refused report changes nothing: the commit of the deployment stays as it was requested.
#[tokio::test]
async fn a_refused_branch_leaves_the_commit_unresolved() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    sqlx::query("update pipelines set repository = 'https://git.test/shop'").execute(&pool).await.unwrap();
    let (_, id) = fixture.claim("qa-1", &fixture.owner, "force-claim").await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let report = async |branch: Option<&str>| {
        fixture.report(&job, "/checkout", json!({ "commitId": COMMIT, "branch": branch })).await.0
    };
    assert_eq!(report(Some("main")).await, 422, "in a session, nothing has to be proven");
    assert_eq!(fixture.deployment(&id).await["commitId"], "0123abc");
    assert_eq!(report(None).await, 200);
    assert_eq!(fixture.deployment(&id).await["commitId"], COMMIT);
    fixture.end().await;
}
