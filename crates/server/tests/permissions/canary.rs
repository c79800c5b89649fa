//! The secret of a token is never stored, returned or logged, whatever requests use it.

use std::io;
use std::sync::{Arc, Mutex};

use greenroom_app::token::new_secret;
use reqwest::Method;
use serde_json::{Value, json};

use crate::content;
use crate::fixture::{PermissionFixture, mistyped};
use crate::response::TestResponse;
use crate::support::database::TestDatabase;
use crate::support::{Caller, eventually};

const TOKENS: &str = "/organizations/acme/api-tokens";

/// The log at the most detailed level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn start() -> Self {
        let log = Self::default();
        let writer = log.clone();
        tracing_subscriber::fmt()
            // The log of the client of this test is left out.
            .with_env_filter("trace,reqwest=off,hyper_util::client=off")
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .init();
        log
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

#[tokio::test]
async fn no_secret_is_stored_returned_or_logged() {
    let (_database, pool) = TestDatabase::create().await;
    let log = Log::start();
    let fixture = PermissionFixture::new(&pool).await;
    let (owner, admin) = (&fixture.owner, fixture.member("admin").await);
    let mut secrets = vec![owner.token.clone(), fixture.stranger.token.clone(), admin.token.clone()];
    let mut responses = String::new();
    use_tokens(&fixture, &admin, &mut secrets, &mut responses).await;
    let recorded = eventually(std::time::Duration::from_secs(5), async || {
        sqlx::query_scalar::<_, i64>("select count(*) from event_intake").fetch_one(&pool).await.unwrap() == 0
    });
    assert!(recorded.await);
    for path in [
        "/members",
        "/api-tokens?all=true",
        "/events",
        "/events?category=audit",
        "/events?after=0",
        "/pipelines",
        "",
    ] {
        responses += &fixture
            .server
            .get(&format!("/organizations/acme{path}"), &owner.token)
            .await
            .succeeded(200)
            .text;
    }
    let (base, database) = (fixture.server.base.clone(), content::dump(&pool).await);
    // Stopping the server writes the last lines of the log.
    fixture.server.stop().await;

    let tokens: Vec<&str> = secrets.iter().map(String::as_str).collect();
    assert!(tokens.len() >= 8);
    let nothing = Vec::<String>::new();
    assert_eq!(content::traces_of(tokens.iter().copied(), &database), nothing, "in the database");
    assert_eq!(content::traces_of(tokens.iter().copied(), &responses), nothing, "in a response");
    assert_eq!(content::traces_of(tokens.iter().copied(), &log.text()), nothing, "in the log");
    // The checks work: text that has to be there is found, and a secret would be.
    assert!(database.contains("idempotency_keys") && database.contains("token.revoked"));
    assert!(log.text().contains("answered 201") && base.ends_with("/api/v1"));
    assert_eq!(content::traces_of(tokens.iter().copied(), &format!("…{}…", tokens[3])), [tokens[3]]);
}

/// Creates, uses and revokes tokens, with refused and repeated requests. Adds all bodies to `responses`,
/// except those that return a secret.
async fn use_tokens(
    fixture: &PermissionFixture,
    admin: &Caller,
    secrets: &mut Vec<String>,
    responses: &mut String,
) {
    let server = &fixture.server;
    let create = async |token: &str, key: &str, body: Value| {
        let request = server.client.request(Method::POST, format!("{}{TOKENS}", server.base));
        let request = request.bearer_auth(token).header("idempotency-key", key).json(&body);
        TestResponse::of(request.send().await.unwrap()).await
    };
    let mut ids = Vec::new();
    for (parent, kind) in
        [(&fixture.owner, "user"), (&fixture.owner, "ci"), (admin, "agent"), (admin, "user")]
    {
        let body = json!({ "name": format!("a {kind}"), "kind": kind });
        let made = create(&parent.token, kind, body.clone()).await.succeeded(201);
        secrets.push(made.field("token"));
        ids.push(made.field("id"));
        *responses += &create(&parent.token, kind, body).await.succeeded(201).text;
    }
    let child = create(&secrets[3].clone(), "child", json!({ "name": "child" })).await.succeeded(201);
    secrets.push(child.field("token"));

    // Valid use and misuse: unknown, mistyped, in the wrong place, in a body and in a path.
    let unknown = new_secret().reveal().to_owned();
    for token in secrets.clone().iter().chain([&unknown, &mistyped(&secrets[3])]) {
        *responses += &server.get("/me", token).await.text;
        *responses += &server.get("/organizations/globex", token).await.text;
        *responses += &server.post("/organizations/acme/pipelines", token, json!({ "name": 1 })).await.text;
    }
    secrets.push(unknown);
    for id in ids {
        *responses += &server.get(&format!("{TOKENS}/{id}"), &fixture.owner.token).await.succeeded(200).text;
        *responses +=
            &server.delete(&format!("{TOKENS}/{id}"), &fixture.owner.token).await.succeeded(200).text;
    }
    let dead = secrets[3].clone();
    *responses += &server.get("/me", &dead).await.text;
    let path = format!("/organizations/acme/members/{}", admin.user);
    *responses += &server.delete(&path, &fixture.owner.token).await.succeeded(200).text;
    *responses += &server.get("/me", &admin.token).await.text;
}
