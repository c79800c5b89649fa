//! What a runner reports of its checkout: the full id of the requested commit, once, and mistakes that a retry can't fix.

use serde_json::json;
use sqlx::PgPool;

use crate::runs::DIAMOND;
use crate::yard::Yard;

const COMMIT: &str = "0123abc000000000000000000000000000000000";

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn only_a_full_id_of_the_requested_commit_is_taken_and_the_first_one_stays(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    for commit in [
        "0123abcd",
        "0123abc$(id) NOT A COMMIT",
        "0123ABC000000000000000000000000000000000",
        "0123abc00000000000000000000000000000000\u{0}",
        "ffffffffffffffffffffffffffffffffffffffff",
        &"0".repeat(64),
    ] {
        for path in ["/checkout", "/complete"] {
            let (status, answer) = yard.say(&job, path, json!({ "commitId": commit })).await;
            assert_eq!(
                (status, answer["errors"][0]["pointer"].as_str()),
                (422, Some("/commitId")),
                "{answer}"
            );
        }
    }
    assert_eq!(yard.deployment(&id).await["commitId"], "0123abc");
    for _ in 0..2 {
        let (status, answer) = yard.say(&job, "/checkout", json!({ "commitId": COMMIT })).await;
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(yard.deployment(&id).await["commitId"], COMMIT);
    let other = COMMIT.replace("000000", "111111");
    assert_eq!(yard.say(&job, "/checkout", json!({ "commitId": other })).await.0, 422);
    assert_eq!(yard.say(&job, "/complete", json!({ "commitId": other })).await.0, 422);
    for branch in ["", "a b", "a\u{0}", "-x", "a:b"] {
        let body = json!({ "commitId": COMMIT, "branch": branch });
        let (status, answer) = yard.say(&job, "/checkout", body).await;
        assert_eq!((status, answer["errors"][0]["pointer"].as_str()), (422, Some("/branch")), "{answer}");
    }
    assert_eq!(yard.deployment(&id).await["commitId"], COMMIT);
    yard.carry_out(&job, 0).await;
    assert_eq!(yard.say(&job, "/checkout", json!({ "commitId": COMMIT })).await.0, 410);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_mistake_that_a_retry_can_not_fix_fails_at_the_first_attempt(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    for reason in ["commit_not_found", "commit_not_on_branch", "repository_unavailable", "image_not_found"] {
        let id = yard.start().await;
        let job = yard.take(&yard.advance(&id).await).await;
        let body = json!({ "error": "the checkout failed: it is so", "failure": reason });
        assert_eq!(yard.say(&job, "/complete", body).await.0, 200);
        assert!(yard.advance(&id).await.ended);
        let shown = yard.deployment(&id).await;
        assert_eq!((shown["status"].as_str(), shown["reason"].as_str()), (Some("failed"), Some(reason)));
        let stage = &shown["stages"][0];
        assert_eq!(
            (&stage["status"], &stage["reason"], &stage["attempt"]),
            (&json!("failed"), &json!(reason), &json!(1))
        );
        assert_eq!(stage["detail"], "the checkout failed: it is so");
        assert_eq!(stage["steps"][0]["status"], "skipped");
    }
    yard.end().await;
}
