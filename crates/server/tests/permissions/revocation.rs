//! A revoked right ends immediately for changes and within a second for reads, on every server.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use crate::fixture::SECOND;
use crate::response::TestResponse;
use crate::support::database::TestDatabase;
use crate::support::{Caller, DEFINITION, TestServer, eventually};

/// Two servers with one database.
struct TwoServerFixture {
    servers: [TestServer; 2],
    owner: Caller,
}

impl TwoServerFixture {
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

    /// Checks that reads and changes succeed on both servers.
    async fn both_work(&self, token: &str, read: &str) {
        for server in &self.servers {
            server.get(read, token).await.succeeded(200);
            change(server, token).await.succeeded(201);
        }
        for server in &self.servers {
            server.get(read, token).await.succeeded(200);
        }
    }

    /// Checks that changes fail immediately and reads within a second.
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

    /// Sends a request as the owner to the first server.
    async fn act(&self, method: Method, path: &str, body: Option<Value>) {
        self.servers[0].request(method, path, Some(&self.owner.token), body).await.succeeded(200);
    }
}

async fn change(server: &TestServer, token: &str) -> TestResponse {
    let body = json!({ "name": format!("p{}", Uuid::now_v7()), "definition": DEFINITION });
    server.post("/organizations/acme/pipelines", token, body).await
}

#[tokio::test]
async fn a_revocation_takes_effect_on_every_server() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = TwoServerFixture::new(&pool).await;
    let victim = fixture.servers[0].member(&fixture.owner, "acme", "maintainer").await;
    fixture.both_work(&victim.token, "/me").await;
    fixture.act(Method::DELETE, &format!("/organizations/acme/api-tokens/{}", victim.token_id), None).await;
    fixture.neither_works(&victim.token, "/me", 401, "unauthenticated").await;
    fixture.stop().await;
}

#[tokio::test]
async fn a_removal_takes_effect_on_every_server() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = TwoServerFixture::new(&pool).await;
    let victim = fixture.servers[0].member(&fixture.owner, "acme", "owner").await;
    let path = format!("/organizations/acme/members/{}", victim.user);
    fixture.both_work(&victim.token, "/me").await;
    fixture.act(Method::DELETE, &path, None).await;
    fixture.neither_works(&victim.token, "/me", 401, "unauthenticated").await;
    fixture.stop().await;
}

#[tokio::test]
async fn a_demotion_takes_effect_on_every_server() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = TwoServerFixture::new(&pool).await;
    let victim = fixture.servers[0].member(&fixture.owner, "acme", "owner").await;
    let all = "/organizations/acme/api-tokens?all=true";
    fixture.both_work(&victim.token, all).await;
    let path = format!("/organizations/acme/members/{}", victim.user);
    fixture.act(Method::PATCH, &path, Some(json!({ "role": "viewer" }))).await;
    fixture.neither_works(&victim.token, all, 403, "forbidden").await;
    // A viewer can still read.
    fixture.servers[1].get("/organizations/acme/api-tokens", &victim.token).await.succeeded(200);
    fixture.stop().await;
}

#[tokio::test]
async fn an_expiry_takes_effect_on_every_server() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = TwoServerFixture::new(&pool).await;
    let soon: String = sqlx::query_scalar(
        r#"select to_char((clock_timestamp() + interval '3 seconds') at time zone 'UTC',
                          'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"#,
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    let body = json!({ "name": "short", "expiresAt": soon });
    let made = fixture.servers[0]
        .post("/organizations/acme/api-tokens", &fixture.owner.token, body)
        .await
        .succeeded(201);
    fixture.both_work(&made.field("token"), "/me").await;
    let expired = eventually(Duration::from_secs(5), async || {
        let sql = "select $1::text::timestamptz <= clock_timestamp()";
        sqlx::query_scalar::<_, bool>(sql).bind(&soon).fetch_one(&pool).await.unwrap()
    });
    assert!(expired.await);
    fixture.neither_works(&made.field("token"), "/me", 401, "unauthenticated").await;
    fixture.stop().await;
}

/// A new right takes effect as fast.
#[tokio::test]
async fn a_promotion_takes_effect_on_every_server() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = TwoServerFixture::new(&pool).await;
    let member = fixture.servers[0].member(&fixture.owner, "acme", "viewer").await;
    for server in &fixture.servers {
        change(server, &member.token).await.refused(403, "forbidden");
    }
    let path = format!("/organizations/acme/members/{}", member.user);
    fixture.act(Method::PATCH, &path, Some(json!({ "role": "maintainer" }))).await;
    for server in &fixture.servers {
        let in_time = eventually(SECOND, async || change(server, &member.token).await.status == 201);
        assert!(in_time.await);
    }
    fixture.stop().await;
}

/// Tokens are revoked with the membership, and stay revoked if it is restored.
#[tokio::test]
async fn tokens_stay_revoked_when_a_removed_member_is_restored() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = TwoServerFixture::new(&pool).await;
    let server = &fixture.servers[0];
    let body = json!({ "email": "back@acme.test", "name": "Back", "role": "maintainer" });
    let members = "/organizations/acme/members";
    let user = server.post(members, &fixture.owner.token, body.clone()).await.succeeded(201).field("userId");
    let old = token_of(&fixture, "back@acme.test").await;
    let child = server.post("/organizations/acme/api-tokens", &old, json!({ "name": "child" })).await;
    let child = child.succeeded(201).field("token");
    fixture.both_work(&old, "/me").await;

    fixture.act(Method::DELETE, &format!("{members}/{user}"), None).await;
    assert_eq!(server.post(members, &fixture.owner.token, body).await.succeeded(201).field("userId"), user);
    fixture.neither_works(&old, "/me", 401, "unauthenticated").await;
    fixture.neither_works(&child, "/me", 401, "unauthenticated").await;
    let new = token_of(&fixture, "back@acme.test").await;
    fixture.both_work(&new, "/me").await;
    server.get("/me", &old).await.refused(401, "unauthenticated");
    let list = server.get("/organizations/acme/api-tokens", &new).await.succeeded(200);
    let revoked = list.json["data"].as_array().unwrap().iter().filter(|token| token["revokedAt"].is_string());
    assert_eq!(revoked.count(), 2, "{}", list.text);
    fixture.stop().await;
}

async fn token_of(fixture: &TwoServerFixture, email: &str) -> String {
    use greenroom_domain::text::{Email, Name};
    use greenroom_domain::token_grant::TokenGrant;
    use greenroom_store::system::bootstrap::NewToken;
    let (secret, name) = (greenroom_app::token::new_secret(), Name::new("console").unwrap());
    let (id, grant) = (Uuid::now_v7().into(), &TokenGrant::of_user());
    let token = NewToken { id, secret: &secret, name: &name, grant };
    let (slug, email) = ("acme".parse().unwrap(), Email::new(email).unwrap());
    fixture.servers[0].server.app.store.create_token_for(&slug, &email, &token).await.unwrap().unwrap();
    secret.reveal().to_owned()
}
