//! Approvals: a stage begins only when the right people have agreed to what it will do.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::{DeploymentFixture, woken};
use crate::support::Caller;
use crate::support::database::TestDatabase;

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// A maintainer and a developer have to approve.
const RELEASE: &str = "
environments:
  production:
    approval: { rules: [{ roles: [maintainer] }, { roles: [developer, maintainer] }], validFor: 4h }
stages:
  release: { environment: production, steps: [{ image: a, run: b }] }
";

pub struct Approvals {
    pub fixture: DeploymentFixture,
    pub pool: PgPool,
    pub maintainer: Caller,
    pub developer: Caller,
}

impl Approvals {
    pub async fn new(pool: &PgPool, definition: &str) -> Self {
        let fixture = DeploymentFixture::new(pool, definition).await;
        let maintainer = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
        let developer = fixture.server.member(&fixture.owner, "acme", "developer").await;
        Self { fixture, pool: pool.clone(), maintainer, developer }
    }

    /// Starts a deployment, whose stage waits for an approval. Returns both.
    pub async fn waiting(&self, by: &Caller) -> (String, Value) {
        let (path, body) = ("/organizations/acme/pipelines/shop/deployments", json!({ "commitId": COMMIT }));
        let (status, made) = self.fixture.server.json(Method::POST, path, &by.token, Some(body)).await;
        assert_eq!(status, 202, "{made}");
        let id = made["data"]["id"].as_str().unwrap().to_owned();
        assert!(self.fixture.advance(&id).await.dispatch.is_empty());
        let approval = self.open(&id).await;
        (id, approval)
    }

    /// Returns the approval that a deployment waits for.
    pub async fn open(&self, deployment: &str) -> Value {
        let waiting = self.fixture.deployment(deployment).await["waitingOn"][0].clone();
        assert_eq!(waiting["kind"], "approval", "{waiting}");
        self.read(waiting["approvalId"].as_str().unwrap()).await
    }

    pub async fn read(&self, id: &str) -> Value {
        let (status, found) = self.fixture.call(Method::GET, &format!("/approvals/{id}"), Value::Null).await;
        assert_eq!(status, 200, "{found}");
        found["data"].clone()
    }

    pub async fn send(
        &self,
        method: Method,
        approval: &Value,
        what: &str,
        token: &str,
        body: Option<Value>,
    ) -> (u16, Value) {
        let path = format!("/organizations/acme/approvals/{}/{what}", approval["id"].as_str().unwrap());
        let (status, response) = self.fixture.server.json(method, &path, token, body).await;
        (status.as_u16(), response)
    }

    pub async fn approve(&self, approval: &Value, by: &Caller) -> (u16, Value) {
        let body = json!({ "subjectDigest": approval["subjectDigest"] });
        self.send(Method::POST, approval, "approve", &by.token, Some(body)).await
    }

    pub async fn reject(&self, approval: &Value, by: &Caller) -> (u16, Value) {
        let body = json!({ "subjectDigest": approval["subjectDigest"], "comment": "not today" });
        self.send(Method::POST, approval, "reject", &by.token, Some(body)).await
    }

    pub async fn approve_by_both(&self, approval: &Value) {
        for by in [&self.maintainer, &self.developer] {
            let (status, response) = self.approve(approval, by).await;
            assert_eq!(status, 200, "{response}");
        }
    }

    /// Sets a time of an approval, as if time had passed.
    async fn set_past(&self, column: &str, approval: &Value) {
        let id: greenroom_domain::id::ApprovalId = approval["id"].as_str().unwrap().parse().unwrap();
        let statement =
            format!("update approvals set {column} = clock_timestamp() - interval '1 second' where id = $1");
        sqlx::query(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).execute(&self.pool).await.unwrap();
    }

    pub async fn stage(&self, deployment: &str) -> Value {
        self.fixture.deployment(deployment).await["stages"][0].clone()
    }
}

pub fn code(response: &(u16, Value)) -> (u16, &str) {
    (response.0, response.1["code"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn a_stage_begins_when_different_people_have_met_all_rules() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let (id, approval) = approvals.waiting(&approvals.fixture.owner).await;
    assert_eq!(
        (&approval["needed"], &approval["have"], &approval["eligible"]),
        (&json!(2), &json!(0), &json!(2))
    );
    assert_eq!((&approval["status"], &approval["satisfiable"]), (&json!("pending"), &json!(true)));
    assert_eq!(
        (&approval["subject"]["commitId"], &approval["subject"]["steps"][0]["unpinned"]),
        (&json!(COMMIT), &json!(true))
    );
    woken(&pool).await;
    // The maintainer fits both rules, and counts once, also with another vote.
    for _ in 0..2 {
        let (status, voted) = approvals.approve(&approval, &approvals.maintainer).await;
        assert_eq!((status, &voted["data"]["have"]), (200, &json!(1)), "{voted}");
    }
    assert!(approvals.fixture.advance(&id).await.dispatch.is_empty());
    let (status, decided) = approvals.approve(&approval, &approvals.developer).await;
    assert_eq!((status, &decided["data"]["status"]), (200, &json!("approved")), "{decided}");
    assert_eq!(decided["data"]["votes"].as_array().unwrap().len(), 2);
    assert_eq!(woken(&pool).await, std::slice::from_ref(&id));
    assert!(approvals.fixture.run_next_job(&id, 0).await.ended);
    assert_eq!(approvals.fixture.status(&id).await, "succeeded");
    let late = approvals.approve(&approval, &approvals.developer).await;
    assert_eq!(code(&late), (409, "approval_decided"));
    assert_eq!((&late.1["status"], &late.1["approvalStatus"]), (&json!(409), &json!("approved")));
    let event = approvals.fixture.event("approval.approved").await;
    assert_eq!(event["data"]["after"]["approvalId"], approval["id"]);
    assert_eq!(approvals.fixture.event("approval.requested").await["data"]["after"]["needed"], 2);
    approvals.fixture.end().await;
}

#[tokio::test]
async fn those_behind_a_deployment_and_programs_and_strangers_do_not_approve() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let (_, approval) = approvals.waiting(&approvals.maintainer).await;
    let refused = approvals.approve(&approval, &approvals.maintainer).await;
    assert_eq!((code(&refused), &refused.1["because"]), ((403, "approval_own"), &json!("started")));
    // Another token, or a browser, is the same person.
    let cookie = approvals.fixture.server.browser(&approvals.maintainer.user).await;
    let body = json!({ "subjectDigest": approval["subjectDigest"] });
    let refused = approvals.send(Method::POST, &approval, "approve", &cookie, Some(body.clone())).await;
    assert_eq!(code(&refused), (403, "approval_own"));
    // The owner has written the definition.
    let refused = approvals.approve(&approval, &approvals.fixture.owner).await;
    assert_eq!((code(&refused), &refused.1["because"]), ((403, "approval_own"), &json!("authored")));
    let stranger = approvals.fixture.server.member(&approvals.fixture.owner, "acme", "viewer").await;
    assert_eq!(code(&approvals.approve(&approval, &stranger).await), (403, "approval_not_yours"));
    // A token of kind `ci` has no scope for votes.
    let path = "/organizations/acme/api-tokens";
    let token = json!({ "name": "ci", "kind": "ci" });
    let (_, made) =
        approvals.fixture.server.json(Method::POST, path, &approvals.developer.token, Some(token)).await;
    let ci = made["data"]["token"].as_str().unwrap().to_owned();
    let refused = approvals.send(Method::POST, &approval, "approve", &ci, Some(body.clone())).await;
    assert_eq!(refused.0, 403, "{refused:?}");
    let stranger = approvals.fixture.server.organization("other").await;
    assert_eq!(approvals.approve(&approval, &stranger).await.0, 404);
    let path = format!("/organizations/other/approvals/{}/approve", approval["id"].as_str().unwrap());
    let (status, _) = approvals.fixture.server.json(Method::POST, &path, &stranger.token, Some(body)).await;
    assert_eq!(status, 404);
    let unread = json!({ "subjectDigest": format!("sha256:{}", "0".repeat(64)) });
    let refused =
        approvals.send(Method::POST, &approval, "approve", &approvals.developer.token, Some(unread)).await;
    assert_eq!(
        (code(&refused), &refused.1["subjectDigest"]),
        ((409, "approval_changed"), &approval["subjectDigest"])
    );
    assert_eq!(approvals.read(approval["id"].as_str().unwrap()).await["votes"], json!([]));
    approvals.fixture.end().await;
}

#[tokio::test]
async fn who_has_retried_a_deployment_does_not_approve_it() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let (id, first) = approvals.waiting(&approvals.fixture.owner).await;
    assert_eq!(approvals.reject(&first, &approvals.maintainer).await.0, 200);
    assert!(approvals.fixture.advance(&id).await.ended);
    let stage = approvals.stage(&id).await;
    assert_eq!((&stage["status"], &stage["reason"]), (&json!("failed"), &json!("approval_rejected")));
    // Two people retry it: both of them stay excluded.
    let path = format!("/organizations/acme/deployments/{id}/stages/release/retry");
    for by in [&approvals.maintainer, &approvals.developer] {
        let (status, response) =
            approvals.fixture.server.json(Method::POST, &path, &by.token, Some(json!({}))).await;
        assert_eq!(status, 202, "{response}");
        approvals.fixture.advance(&id).await;
        let approval = approvals.open(&id).await;
        assert_ne!(approval["id"], first["id"]);
        let own = approvals.approve(&approval, by).await;
        assert_eq!((code(&own), &own.1["because"]), ((403, "approval_own"), &json!("retried")));
        let cancel = format!("/deployments/{id}/stages/release/cancel");
        assert_eq!(approvals.fixture.call(Method::POST, &cancel, json!(null)).await.0, 202);
        approvals.fixture.advance(&id).await;
        assert_eq!(approvals.read(approval["id"].as_str().unwrap()).await["status"], "canceled");
    }
    approvals.fixture.call(Method::POST, &format!("/deployments/{id}/stages/release/retry"), json!({})).await;
    approvals.fixture.advance(&id).await;
    let approval = approvals.open(&id).await;
    for by in [&approvals.maintainer, &approvals.developer] {
        assert_eq!(code(&approvals.approve(&approval, by).await), (403, "approval_own"));
    }
    assert_eq!((&approval["satisfiable"], &approval["eligible"]), (&json!(false), &json!(0)));
    approvals.fixture.event("approval.unsatisfiable").await;
    approvals.fixture.end().await;
}

#[tokio::test]
async fn a_withdrawn_vote_and_one_of_a_removed_member_do_not_count() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let other = approvals.fixture.server.member(&approvals.fixture.owner, "acme", "developer").await;
    let (id, approval) = approvals.waiting(&approvals.fixture.owner).await;
    assert_eq!(approvals.approve(&approval, &approvals.developer).await.0, 200);
    let (status, withdrawn) =
        approvals.send(Method::DELETE, &approval, "vote", &approvals.developer.token, None).await;
    assert_eq!((status, &withdrawn["data"]["have"]), (200, &json!(0)), "{withdrawn}");
    assert_eq!(approvals.approve(&approval, &other).await.1["data"]["have"], 1);
    let path = format!("/members/{}", other.user);
    assert_eq!(approvals.fixture.call(Method::DELETE, &path, Value::Null).await.0, 200);
    let (_, voted) = approvals.approve(&approval, &approvals.maintainer).await;
    assert_eq!((&voted["data"]["status"], &voted["data"]["have"]), (&json!("pending"), &json!(1)));
    assert!(approvals.fixture.advance(&id).await.dispatch.is_empty());
    approvals.fixture.end().await;
}

#[tokio::test]
async fn an_approval_expires_and_lapses() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let (id, approval) = approvals.waiting(&approvals.fixture.owner).await;
    approvals.set_past("expires_at", &approval).await;
    assert_eq!(code(&approvals.approve(&approval, &approvals.developer).await), (409, "approval_decided"));
    assert!(approvals.fixture.advance(&id).await.ended);
    assert_eq!(approvals.stage(&id).await["reason"], "approval_expired");
    assert_eq!(approvals.read(approval["id"].as_str().unwrap()).await["status"], "expired");
    // Approved, taken by a runner, and started too late: it waits again.
    let (id, approval) = approvals.waiting(&approvals.fixture.owner).await;
    approvals.approve_by_both(&approval).await;
    let job = approvals.fixture.take(&approvals.fixture.advance(&id).await).await;
    approvals.set_past("valid_until", &approval).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    assert_eq!(code(&approvals.fixture.report(&job, &start, json!({})).await), (410, "job_gone"));
    assert!(approvals.fixture.advance(&id).await.dispatch.is_empty());
    let stage = approvals.stage(&id).await;
    assert_eq!((&stage["status"], &stage["reason"]), (&json!("waiting"), &json!("approval_lapsed")));
    let again = approvals.open(&id).await;
    assert_ne!(again["id"], approval["id"]);
    approvals.approve_by_both(&again).await;
    assert!(approvals.fixture.run_next_job(&id, 0).await.ended);
    approvals.fixture.end().await;
}

#[tokio::test]
async fn a_retry_with_the_same_subject_needs_no_new_vote() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let (id, approval) = approvals.waiting(&approvals.fixture.owner).await;
    approvals.approve_by_both(&approval).await;
    assert!(approvals.fixture.run_next_job(&id, 1).await.ended);
    let retry = format!("/deployments/{id}/stages/release/retry");
    assert_eq!(approvals.fixture.call(Method::POST, &retry, json!({})).await.0, 202);
    assert_eq!(approvals.fixture.advance(&id).await.dispatch.len(), 1);
    // With another definition it does.
    assert!(approvals.fixture.run_next_job(&id, 1).await.ended);
    let changed = json!({ "definition": RELEASE.replace("run: b", "run: c") });
    assert_eq!(approvals.fixture.call(Method::PUT, "/pipelines/shop", changed).await.0, 200);
    assert_eq!(approvals.fixture.call(Method::POST, &retry, json!({ "inputs": "latest" })).await.0, 202);
    assert!(approvals.fixture.advance(&id).await.dispatch.is_empty());
    assert_ne!(approvals.open(&id).await["id"], approval["id"]);
    approvals.fixture.end().await;
}

#[tokio::test]
async fn approving_a_newer_deployment_supersedes_older_ones() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let (old, of_old) = approvals.waiting(&approvals.fixture.owner).await;
    let (new, of_new) = approvals.waiting(&approvals.fixture.owner).await;
    approvals.approve_by_both(&of_new).await;
    assert_eq!(approvals.read(of_old["id"].as_str().unwrap()).await["status"], "superseded");
    assert!(approvals.fixture.advance(&old).await.ended);
    assert_eq!(approvals.fixture.status(&old).await, "superseded");
    assert!(approvals.fixture.run_next_job(&new, 0).await.ended);
    approvals.fixture.end().await;
}

#[tokio::test]
async fn an_admin_overrides_with_a_reason_that_stays() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let (id, approval) = approvals.waiting(&approvals.fixture.owner).await;
    let path = format!("/organizations/acme/deployments/{id}/stages/release/override");
    let (owner, body) =
        (&approvals.fixture.owner.token, json!({ "reason": "outage", "gates": ["approval"] }));
    let (status, _) = approvals
        .fixture
        .server
        .json(Method::POST, &path, &approvals.maintainer.token, Some(body.clone()))
        .await;
    assert_eq!(status, 403);
    let (status, response) =
        approvals.fixture.server.json(Method::POST, &path, owner, Some(body.clone())).await;
    assert_eq!(status, 202, "{response}");
    let overridden = approvals.read(approval["id"].as_str().unwrap()).await;
    assert_eq!(
        (&overridden["status"], &overridden["overridden"]["reason"]),
        (&json!("approved"), &json!("outage"))
    );
    assert!(approvals.fixture.run_next_job(&id, 0).await.ended);
    let (status, refused) = approvals.fixture.server.json(Method::POST, &path, owner, Some(body)).await;
    assert_eq!(
        (status.as_u16(), &refused["code"]),
        (409, &json!("invalid_state")),
        "the deployment has ended"
    );
    assert_eq!(approvals.stage(&id).await["gateOverridden"]["reason"], "outage");
    let path = "/pipelines/shop/environments/production/history";
    let (_, history) = approvals.fixture.call(Method::GET, path, Value::Null).await;
    let entry = &history["data"][0];
    assert_eq!(
        (&entry["overrides"][0]["reason"], &entry["overrides"][0]["gates"]),
        (&json!("outage"), &json!(["approval"]))
    );
    assert_eq!(entry["createdBy"], entry["by"], "nobody has retried it");
    assert_eq!(approvals.fixture.event("deployment.stage.overridden").await["data"]["reason"], "outage");
    approvals.fixture.end().await;
}

/// The engine's history keeps each poll, and a wait may take a week.
#[tokio::test]
async fn a_wait_of_days_is_polled_once_a_day_and_only_a_decision_wakes_up() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = RELEASE.replace("validFor: 4h", "timeout: 7d");
    let approvals = Approvals::new(&pool, &definition).await;
    let (id, approval) = approvals.waiting(&approvals.fixture.owner).await;
    assert_eq!(approvals.fixture.advance(&id).await.again_in.unwrap().as_secs(), 24 * 3_600);
    woken(&pool).await;
    assert_eq!(approvals.approve(&approval, &approvals.developer).await.0, 200);
    assert!(woken(&pool).await.is_empty(), "the vote has decided nothing");
    assert_eq!(approvals.approve(&approval, &approvals.maintainer).await.0, 200);
    assert_eq!(woken(&pool).await, [id]);
    approvals.fixture.end().await;
}

/// Many people vote at the same time: one of them decides.
#[tokio::test]
async fn concurrent_votes_decide_once() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let mut voters = Vec::new();
    for _ in 0..8 {
        voters.push(approvals.fixture.server.member(&approvals.fixture.owner, "acme", "maintainer").await);
    }
    let (id, approval) = approvals.waiting(&approvals.fixture.owner).await;
    let votes = voters.iter().map(|voter| approvals.approve(&approval, voter));
    let results = futures_util::future::join_all(votes).await;
    let accepted = results.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!(accepted, 2, "{results:?}");
    assert!(results.iter().all(|result| result.0 == 200 || code(result) == (409, "approval_decided")));
    let decided = approvals.read(approval["id"].as_str().unwrap()).await;
    assert_eq!((&decided["status"], decided["votes"].as_array().unwrap().len()), (&json!("approved"), 2));
    assert_eq!(approvals.fixture.advance(&id).await.dispatch.len(), 1);
    approvals.fixture.end().await;
}

#[tokio::test]
async fn the_list_of_mine_has_what_waits_for_my_vote() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let (_, first) = approvals.waiting(&approvals.fixture.owner).await;
    let (_, own) = approvals.waiting(&approvals.maintainer).await;
    let mine = async |by: &Caller| {
        let path = "/organizations/acme/approvals?mine=true";
        let (_, list) = approvals.fixture.server.json(Method::GET, path, &by.token, None).await;
        let ids = list["data"].as_array().unwrap().iter().map(|one| one["id"].clone());
        ids.collect::<Vec<Value>>()
    };
    assert_eq!(mine(&approvals.maintainer).await, [first["id"].clone()]);
    assert_eq!(mine(&approvals.developer).await, [own["id"].clone(), first["id"].clone()]);
    assert!(mine(&approvals.fixture.owner).await.is_empty());
    assert_eq!(approvals.approve(&first, &approvals.developer).await.0, 200);
    assert_eq!(mine(&approvals.developer).await, [own["id"].clone()]);
    let (_, all) = approvals.fixture.call(Method::GET, "/approvals?status=pending", Value::Null).await;
    assert_eq!(all["data"].as_array().unwrap().len(), 2);
    approvals.fixture.end().await;
}
