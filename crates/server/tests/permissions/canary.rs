//! No token's secret is kept, told or logged anywhere, whatever was done with it.

use std::io;
use std::sync::{Arc, Mutex};

use greenroom_server::app::token::new_secret;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::answer::Answer;
use crate::content;
use crate::support::{Caller, eventually};
use crate::world::{World, mistyped};

const TOKENS: &str = "/organizations/acme/api-tokens";

/// All that would be logged at the finest level.
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
            // This test's own client is not the server.
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

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn no_secret_is_left_anywhere(pool: PgPool) {
    let log = Log::start();
    let world = World::new(&pool).await;
    let (owner, admin) = (&world.owner, world.member("admin").await);
    let mut secrets = vec![owner.token.clone(), world.stranger.token.clone(), admin.token.clone()];
    let mut answers = String::new();
    live(&world, &admin, &mut secrets, &mut answers).await;
    let told = eventually(std::time::Duration::from_secs(5), async || {
        sqlx::query_scalar::<_, i64>("select count(*) from event_intake").fetch_one(&pool).await.unwrap() == 0
    });
    assert!(told.await);
    for path in [
        "/members",
        "/api-tokens?all=true",
        "/events",
        "/events?category=audit",
        "/events?after=0",
        "/pipelines",
        "",
    ] {
        answers +=
            &world.server.get(&format!("/organizations/acme{path}"), &owner.token).await.succeeded(200).text;
    }
    let (base, database) = (world.server.base.clone(), content::dump(&pool).await);
    // With it go the last lines of the log.
    world.server.stop().await;

    let known: Vec<&str> = secrets.iter().map(String::as_str).collect();
    assert!(known.len() >= 8);
    let nothing = Vec::<String>::new();
    assert_eq!(content::traces_of(known.iter().copied(), &database), nothing, "in the database");
    assert_eq!(content::traces_of(known.iter().copied(), &answers), nothing, "in an answer");
    assert_eq!(content::traces_of(known.iter().copied(), &log.text()), nothing, "in the log");
    // The nets have no holes: what has to be there is found, and a secret would be.
    assert!(database.contains("idempotency_keys") && database.contains("token.revoked"));
    assert!(log.text().contains("answered 201") && base.ends_with("/api/v1"));
    assert_eq!(content::traces_of(known.iter().copied(), &format!("…{}…", known[3])), [known[3]]);
}

/// Makes, uses, refuses, repeats and revokes tokens. `answers` gets all bodies but those that show a secret.
async fn live(world: &World, admin: &Caller, secrets: &mut Vec<String>, answers: &mut String) {
    let server = &world.server;
    let create = async |token: &str, key: &str, body: Value| {
        let request = server.client.request(Method::POST, format!("{}{TOKENS}", server.base));
        let request = request.bearer_auth(token).header("idempotency-key", key).json(&body);
        Answer::of(request.send().await.unwrap()).await
    };
    let mut ids = Vec::new();
    for (parent, kind) in [(&world.owner, "user"), (&world.owner, "ci"), (admin, "agent"), (admin, "user")] {
        let body = json!({ "name": format!("a {kind}"), "kind": kind });
        let made = create(&parent.token, kind, body.clone()).await.succeeded(201);
        secrets.push(made.field("token"));
        ids.push(made.field("id"));
        *answers += &create(&parent.token, kind, body).await.succeeded(201).text;
    }
    let child = create(&secrets[3].clone(), "child", json!({ "name": "child" })).await.succeeded(201);
    secrets.push(child.field("token"));

    // Used well, and badly: unknown, mistyped, in the wrong place, in a body and in a path.
    let unknown = new_secret().reveal().to_owned();
    for token in secrets.clone().iter().chain([&unknown, &mistyped(&secrets[3])]) {
        *answers += &server.get("/me", token).await.text;
        *answers += &server.get("/organizations/globex", token).await.text;
        *answers += &server.post("/organizations/acme/pipelines", token, json!({ "name": 1 })).await.text;
    }
    secrets.push(unknown);
    for id in ids {
        *answers += &server.get(&format!("{TOKENS}/{id}"), &world.owner.token).await.succeeded(200).text;
        *answers += &server.delete(&format!("{TOKENS}/{id}"), &world.owner.token).await.succeeded(200).text;
    }
    let dead = secrets[3].clone();
    *answers += &server.get("/me", &dead).await.text;
    let path = format!("/organizations/acme/members/{}", admin.user);
    *answers += &server.delete(&path, &world.owner.token).await.succeeded(200).text;
    *answers += &server.get("/me", &admin.token).await.text;
}
