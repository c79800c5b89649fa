//! Reports of a checkout: the full id of the requested commit, which is stored once, and failures that a
//! retry cannot fix.

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
