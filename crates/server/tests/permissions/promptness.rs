//! The end of a right holds at once for changes, and within a second for reads, on every server.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use crate::answer::Answer;
use crate::support::{Caller, DEFINITION, TestServer, eventually};
use crate::world::SECOND;

/// Two servers over one database.
struct Two {
    servers: [TestServer; 2],
    owner: Caller,
}

impl Two {
    async fn new(pool: &PgPool) -> Self {
        let servers = [TestServer::start(pool).await, TestServer::start(pool).await];
        let owner = servers[0].organization("acme").await;
        Self { servers, owner }
    }

    async fn stop(self) {
        for server in self.servers {
            server.stop().await;
        }
    }

    /// What the victim may do on both servers, and just did: reading and changing.
    async fn both_work(&self, token: &str, read: &str) {
        for server in &self.servers {
            server.get(read, token).await.succeeded(200);
            change(server, token).await.succeeded(201);
        }
        for server in &self.servers {
            server.get(read, token).await.succeeded(200);
        }
    }

    /// From here on neither may work: changes at once, reads within a second.
    async fn neither_works(&self, token: &str, read: &str, status: u16, code: &str) {
        let since = Instant::now();
        for server in &self.servers {
            change(server, token).await.refused(status, code);
        }
        for (number, server) in self.servers.iter().enumerate() {
            while server.get(read, token).await.status == 200 {
                let passed = since.elapsed();
                assert!(passed <= SECOND, "server {number} still let it read after {passed:?}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            server.get(read, token).await.refused(status, code);
        }
    }

    /// The owner, through the first server.
    async fn act(&self, method: Method, path: &str, body: Option<Value>) {
        self.servers[0].ask(method, path, Some(&self.owner.token), body).await.succeeded(200);
    }
}

async fn change(server: &TestServer, token: &str) -> Answer {
    let body = json!({ "name": format!("p{}", Uuid::now_v7()), "definition": DEFINITION });
    server.post("/organizations/acme/pipelines", token, body).await
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn of_a_revocation(pool: PgPool) {
    let two = Two::new(&pool).await;
    let victim = two.servers[0].member(&two.owner, "acme", "maintainer").await;
    two.both_work(&victim.token, "/me").await;
    two.act(Method::DELETE, &format!("/organizations/acme/api-tokens/{}", victim.token_id), None).await;
    two.neither_works(&victim.token, "/me", 401, "unauthenticated").await;
    two.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn of_a_removal(pool: PgPool) {
    let two = Two::new(&pool).await;
    let victim = two.servers[0].member(&two.owner, "acme", "owner").await;
    let path = format!("/organizations/acme/members/{}", victim.user);
    two.both_work(&victim.token, "/me").await;
    two.act(Method::DELETE, &path, None).await;
    two.neither_works(&victim.token, "/me", 401, "unauthenticated").await;
    two.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn of_a_demotion(pool: PgPool) {
    let two = Two::new(&pool).await;
    let victim = two.servers[0].member(&two.owner, "acme", "owner").await;
    let all = "/organizations/acme/api-tokens?all=true";
    two.both_work(&victim.token, all).await;
    let path = format!("/organizations/acme/members/{}", victim.user);
    two.act(Method::PATCH, &path, Some(json!({ "role": "viewer" }))).await;
    two.neither_works(&victim.token, all, 403, "forbidden").await;
    // What a viewer may do goes on.
    two.servers[1].get("/organizations/acme/api-tokens", &victim.token).await.succeeded(200);
    two.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn of_an_expiry(pool: PgPool) {
    let two = Two::new(&pool).await;
    let soon: String = sqlx::query_scalar(
        r#"select to_char((clock_timestamp() + interval '3 seconds') at time zone 'UTC',
                          'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"#,
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    let body = json!({ "name": "short", "expiresAt": soon });
    let made =
        two.servers[0].post("/organizations/acme/api-tokens", &two.owner.token, body).await.succeeded(201);
    two.both_work(&made.field("token"), "/me").await;
    let expired = eventually(Duration::from_secs(5), async || {
        let sql = "select $1::text::timestamptz <= clock_timestamp()";
        sqlx::query_scalar::<_, bool>(sql).bind(&soon).fetch_one(&pool).await.unwrap()
    });
    assert!(expired.await);
    two.neither_works(&made.field("token"), "/me", 401, "unauthenticated").await;
    two.stop().await;
}

/// A new right holds as soon.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn of_a_promotion(pool: PgPool) {
    let two = Two::new(&pool).await;
    let member = two.servers[0].member(&two.owner, "acme", "viewer").await;
    for server in &two.servers {
        change(server, &member.token).await.refused(403, "forbidden");
    }
    let path = format!("/organizations/acme/members/{}", member.user);
    two.act(Method::PATCH, &path, Some(json!({ "role": "maintainer" }))).await;
    for server in &two.servers {
        let in_time = eventually(SECOND, async || change(server, &member.token).await.status == 201);
        assert!(in_time.await);
    }
    two.stop().await;
}

/// Tokens die with the membership, and stay dead if it comes back.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn of_a_removal_that_is_taken_back(pool: PgPool) {
    let two = Two::new(&pool).await;
    let server = &two.servers[0];
    let body = json!({ "email": "back@acme.test", "name": "Back", "role": "maintainer" });
    let members = "/organizations/acme/members";
    let user = server.post(members, &two.owner.token, body.clone()).await.succeeded(201).field("userId");
    let old = token_of(&two, "back@acme.test").await;
    let child = server.post("/organizations/acme/api-tokens", &old, json!({ "name": "child" })).await;
    let child = child.succeeded(201).field("token");
    two.both_work(&old, "/me").await;

    two.act(Method::DELETE, &format!("{members}/{user}"), None).await;
    assert_eq!(server.post(members, &two.owner.token, body).await.succeeded(201).field("userId"), user);
    two.neither_works(&old, "/me", 401, "unauthenticated").await;
    two.neither_works(&child, "/me", 401, "unauthenticated").await;
    let new = token_of(&two, "back@acme.test").await;
    two.both_work(&new, "/me").await;
    server.get("/me", &old).await.refused(401, "unauthenticated");
    let listed = server.get("/organizations/acme/api-tokens", &new).await.succeeded(200);
    let revoked =
        listed.json["data"].as_array().unwrap().iter().filter(|token| token["revokedAt"].is_string());
    assert_eq!(revoked.count(), 2, "{}", listed.text);
    two.stop().await;
}

async fn token_of(two: &Two, email: &str) -> String {
    use greenroom_domain::text::{Email, Name};
    use greenroom_domain::token_grant::TokenGrant;
    use greenroom_store::system::bootstrap::NewToken;
    let (secret, name) = (greenroom_server::app::token::new_secret(), Name::new("console").unwrap());
    let (id, grant) = (Uuid::now_v7().into(), &TokenGrant::of_user());
    let token = NewToken { id, secret: &secret, name: &name, grant };
    let (slug, email) = ("acme".parse().unwrap(), Email::new(email).unwrap());
    two.servers[0].server.app.store.create_token_for(&slug, &email, &token).await.unwrap().unwrap();
    secret.reveal().to_owned()
}
