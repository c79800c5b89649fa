//! Approvals by groups, of deployments that programs start, and what people are shown.

use reqwest::Method;
use serde_json::{Value, json};

use crate::approvals::{Approvals, COMMIT, code};
use crate::support::Caller;
use crate::support::database::TestDatabase;

/// A member of `ops` has to approve.
const RELEASE: &str = "
environments:
  production: { approval: { groups: [ops] } }
stages:
  release: { environment: production, steps: [{ name: roll, image: a, run: b }] }
";
const DEPLOYMENTS: &str = "/organizations/acme/pipelines/shop/deployments";

/// Creates a group with these members. Returns its path. An admin puts them into it who has nothing to do with the
/// deployments.
async fn group(approvals: &Approvals, name: &str, members: &[&Caller]) -> String {
    let server = &approvals.fixture.server;
    let admin = server.member(&approvals.fixture.owner, "acme", "admin").await;
    let (status, made) = approvals.fixture.call(Method::POST, "/groups", json!({ "name": name })).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/groups/{}", made["data"]["id"].as_str().unwrap());
    for member in members {
        let path = format!("/organizations/acme{path}/members/{}", member.user);
        assert_eq!(server.json(Method::PUT, &path, &admin.token, None).await.0, 200);
    }
    path
}

/// Creates a service account with a token of this kind. Returns both.
async fn account(approvals: &Approvals) -> (String, String) {
    let body = json!({ "name": "ci", "role": "maintainer" });
    let (status, made) = approvals.fixture.call(Method::POST, "/service-accounts", body).await;
    assert_eq!(status, 201, "{made}");
    let id = made["data"]["id"].as_str().unwrap().to_owned();
    let body = json!({ "name": "release", "scopes": ["read", "hold", "deploy", "start", "write"] });
    let path = format!("/service-accounts/{id}/api-tokens");
    let (status, made) = approvals.fixture.call(Method::POST, &path, body).await;
    assert_eq!(status, 201, "{made}");
    (id, made["data"]["token"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn members_of_a_group_approve_as_long_as_they_are_in_it() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    // The group is empty: the approval shows it when it is opened, and `validate` warns.
    let (_, open) = approvals.waiting(&approvals.fixture.owner).await;
    assert_eq!((&open["satisfiable"], &open["eligible"]), (&json!(false), &json!(0)));
    let body = json!({ "definition": RELEASE });
    let (_, report) = approvals.fixture.call(Method::POST, "/pipelines/validate", body.clone()).await;
    let warning = &report["data"]["warnings"][0];
    assert_eq!(
        (&warning["code"], &warning["line"]),
        (&json!("approval_unsatisfiable"), &json!(5)),
        "{report}"
    );
    let group = group(&approvals, "ops", &[&approvals.developer, &approvals.maintainer]).await;
    let (_, report) = approvals.fixture.call(Method::POST, "/pipelines/validate", body).await;
    assert_eq!(report["data"]["warnings"], json!([]));
    // Who has left the group does not approve. A member does, also of an approval that was opened before.
    let member = format!("{group}/members/{}", approvals.maintainer.user);
    assert_eq!(approvals.fixture.call(Method::DELETE, &member, Value::Null).await.0, 200);
    assert_eq!(code(&approvals.approve(&open, &approvals.maintainer).await), (403, "approval_not_yours"));
    let (status, decided) = approvals.approve(&open, &approvals.developer).await;
    assert_eq!((status, &decided["data"]["status"]), (200, &json!("approved")), "{decided}");
    approvals.fixture.end().await;
}

#[tokio::test]
async fn a_program_needs_one_more_approval_and_never_votes() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let (id, token) = account(&approvals).await;
    let organization = approvals.developer.organization.clone();
    let service = Caller { organization, user: id, token, token_id: String::new() };
    let group = group(&approvals, "ops", &[&approvals.developer, &approvals.maintainer]).await;
    let put = format!("{group}/members/{}", service.user);
    let added = approvals.fixture.call(Method::PUT, &put, Value::Null).await;
    // The person for whom it acts is excluded, and one more approval is needed all the same.
    let body = json!({ "commitId": COMMIT, "onBehalfOf": { "userId": approvals.maintainer.user } });
    let (status, made) =
        approvals.fixture.server.json(Method::POST, DEPLOYMENTS, &service.token, Some(body.clone())).await;
    assert_eq!(
        (status.as_u16(), &made["data"]["onBehalfOf"]["id"]),
        (202, &json!(approvals.maintainer.user))
    );
    let deployment = made["data"]["id"].as_str().unwrap().to_owned();
    approvals.fixture.advance(&deployment).await;
    let approval = approvals.open(&deployment).await;
    assert_eq!((&approval["needed"], &approval["eligible"]), (&json!(2), &json!(1)), "{added:?}");
    let own = approvals.approve(&approval, &approvals.maintainer).await;
    assert_eq!((code(&own), &own.1["because"]), ((403, "approval_own"), &json!("on_behalf_of")));
    assert_eq!(code(&approvals.approve(&approval, &service).await), (403, "approval_needs_person"));
    let (_, voted) = approvals.approve(&approval, &approvals.developer).await;
    assert_eq!((&voted["data"]["have"], &voted["data"]["status"]), (&json!(1), &json!("pending")), "{voted}");
    // A person acts in their own name, and a program only for a member.
    let post = async |token: &str, body: Value| {
        let (status, response) =
            approvals.fixture.server.json(Method::POST, DEPLOYMENTS, token, Some(body)).await;
        (status.as_u16(), response["errors"][0]["pointer"].clone())
    };
    assert_eq!(post(&approvals.developer.token, body).await, (422, json!("/onBehalfOf")));
    let stranger = approvals.fixture.server.organization("other").await;
    for user in [stranger.user.as_str(), service.user.as_str(), "usr_1"] {
        let body = json!({ "commitId": COMMIT, "onBehalfOf": { "userId": user } });
        assert_eq!(post(&service.token, body).await, (422, json!("/onBehalfOf/userId")), "{user}");
    }
    approvals.fixture.end().await;
}

#[tokio::test]
async fn an_approval_shows_what_is_new_since_the_last_success() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    group(&approvals, "ops", &[&approvals.developer]).await;
    let (first, approval) = approvals.waiting(&approvals.fixture.owner).await;
    assert_eq!(approval["changes"], Value::Null);
    assert_eq!(approvals.approve(&approval, &approvals.developer).await.0, 200);
    assert!(approvals.fixture.run_next_job(&first, 0).await.ended);
    let (_, same) = approvals.waiting(&approvals.fixture.owner).await;
    let changes = &same["changes"];
    assert_eq!((&changes["deploymentId"], &changes["commit"]), (&json!(first), &Value::Null), "{same}");
    assert_eq!((&changes["definition"], &changes["steps"]), (&Value::Null, &json!([])));
    let changed = json!({ "definition": RELEASE.replace("image: a", "image: z") });
    assert_eq!(approvals.fixture.call(Method::PUT, "/pipelines/shop", changed).await.0, 200);
    let (_, other) = approvals.waiting(&approvals.fixture.owner).await;
    let steps = json!([{ "name": "roll", "before": "a", "after": "z" }]);
    assert_eq!(other["changes"]["steps"], steps, "{other}");
    assert_eq!(other["changes"]["definition"]["after"], other["subject"]["definition"]);
    approvals.fixture.end().await;
}

#[tokio::test]
async fn a_stage_that_waits_first_needs_the_complete_commit_id() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, RELEASE).await;
    let body = json!({ "commitId": "0123abc" });
    let (status, refused) = approvals
        .fixture
        .server
        .json(Method::POST, DEPLOYMENTS, &approvals.fixture.owner.token, Some(body))
        .await;
    assert_eq!((status.as_u16(), &refused["errors"][0]["pointer"]), (422, &json!("/commitId")), "{refused}");
    approvals.fixture.end().await;
}
