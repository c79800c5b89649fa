//! Which tokens of a chain act in which sessions: the one that claimed it, and those that descend from it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::EnvironmentFixture;
use crate::support::Caller;
use crate::support::database::TestDatabase;

const COMMIT: &str = "0123abc";

/// An admin made `root` and `other`. `root` made `child` and `sibling`, and `child` made `grandchild`.
struct Family {
    fixture: EnvironmentFixture,
    tokens: [(&'static str, Caller); 5],
}

impl Family {
    async fn new(fixture: EnvironmentFixture) -> Self {
        let maker = |name: &str| json!({ "name": name, "scopes": ["read", "hold", "deploy", "write"] });
        let account = fixture.service_account("developer").await;
        let root = fixture.service_token(&account, maker("root")).await;
        let other = fixture.service_token(&account, maker("other")).await;
        let child = fixture.token(&root, maker("child")).await;
        let sibling = fixture.token(&root, maker("sibling")).await;
        let grandchild = fixture.token(&child, maker("grandchild")).await;
        let tokens = [
            ("root", root),
            ("child", child),
            ("grandchild", grandchild),
            ("sibling", sibling),
            ("other", other),
        ];
        Self { fixture, tokens }
    }

    fn token(&self, name: &str) -> &Caller {
        &self.tokens.iter().find(|(known, _)| *known == name).unwrap().1
    }

    async fn status(&self, by: &Caller, method: Method, path: &str, body: Value) -> (u16, Value) {
        let reply = self.fixture.send(by, method, path, body).await;
        (reply.status, reply.json)
    }

    async fn yours(&self, by: &Caller) -> Value {
        let summary = self.fixture.of_organization(by, Method::GET, "/summary", Value::Null).await;
        summary["data"]["yours"].clone()
    }
}

const SESSIONS: [(&str, &[&str]); 5] = [
    ("root", &["root", "child", "grandchild", "sibling"]),
    ("child", &["child", "grandchild"]),
    ("grandchild", &["grandchild"]),
    ("sibling", &["sibling"]),
    ("other", &["other"]),
];

#[tokio::test]
async fn a_held_session_belongs_to_its_token_and_descendants() {
    let (_database, pool) = TestDatabase::create().await;
    let family = Family::new(EnvironmentFixture::new(&pool).await).await;
    for (claimer, owners) in SESSIONS {
        let claimed = family.fixture.claim(family.token(claimer), json!({})).await.is(201)["data"].clone();
        assert_eq!(claimed["lock"]["holder"]["token"], claimer);
        let session = claimed["sessionId"].as_str().unwrap();
        let own = format!("/sessions/{session}");
        for (name, token) in &family.tokens {
            let owns = owners.contains(name);
            let label = format!("{name} in a session of {claimer}");
            for (method, path, body, accepted) in [
                (Method::POST, format!("{own}/renew"), Value::Null, 200),
                (Method::POST, format!("{own}/heartbeat"), json!({}), 200),
                (Method::POST, format!("{own}/handover/decline"), json!({}), 409),
                (Method::POST, format!("{own}/transfer"), json!({ "userId": token.user }), 422),
            ] {
                let (status, json) = family.status(token, method, &path, body).await;
                assert_eq!(status, if owns { accepted } else { 403 }, "{label}: {path}: {json}");
            }
            // The fast path and the slow path.
            for body in [json!({}), json!({ "commitId": COMMIT })] {
                let (status, json) = family.status(token, Method::POST, "/sessions", body).await;
                let code = if owns { "held_by_you" } else { "environment_locked" };
                assert_eq!((status, &json["code"]), (409, &json!(code)), "{label}");
            }
            assert_eq!(family.yours(token).await["held"], i64::from(owns), "{label}");
            if !owns {
                family.fixture.delete(token, &own).await.is(403);
                let watch = format!("/events?sessionId={session}");
                assert_eq!(family.status(token, Method::GET, &watch, Value::Null).await.0, 403, "{label}");
            }
        }
        // The last of the owners deploys and cancels, and releases.
        let last = family.token(owners[owners.len() - 1]);
        let (status, deployed) =
            family.status(last, Method::POST, &format!("{own}/deploy"), json!({ "commitId": COMMIT })).await;
        assert_eq!(status, 202, "{deployed}");
        let cancel =
            format!("/organizations/acme/deployments/{}/cancel", deployed["data"]["id"].as_str().unwrap());
        for (name, token) in family.tokens.iter().filter(|(name, _)| !owners.contains(name)) {
            let (status, json) =
                family.fixture.server.json(Method::POST, &cancel, &token.token, Some(json!({}))).await;
            assert_eq!((status.as_u16(), &json["holder"]["token"]), (403, &json!(claimer)), "{name}");
        }
        let (status, json) =
            family.fixture.server.json(Method::POST, &cancel, &last.token, Some(json!({}))).await;
        assert_eq!(status.as_u16(), 202, "{json}");
        family.fixture.delete(last, &own).await.is(200);
    }
    family.fixture.end().await;
}

#[tokio::test]
async fn a_place_in_the_queue_belongs_to_its_token_and_descendants() {
    let (_database, pool) = TestDatabase::create().await;
    let family = Family::new(EnvironmentFixture::new(&pool).await).await;
    let held = family.fixture.claim(&family.fixture.dev, json!({})).await.session();
    for (claimer, owners) in SESSIONS {
        let waiting = family.fixture.claim(family.token(claimer), json!({ "queue": true })).await.session();
        let own = format!("/sessions/{waiting}");
        for (name, token) in &family.tokens {
            let owns = owners.contains(name);
            let heartbeat = format!("{own}/heartbeat");
            let (status, json) = family.status(token, Method::POST, &heartbeat, json!({})).await;
            assert_eq!(status, if owns { 200 } else { 403 }, "{name} in a place of {claimer}: {json}");
            assert_eq!(family.yours(token).await["queued"], i64::from(owns), "{name}");
            if !owns {
                family.fixture.delete(token, &own).await.is(403);
            }
        }
        family.fixture.delete(family.token(owners[owners.len() - 1]), &own).await.is(200);
    }
    family.fixture.delete(&family.fixture.dev, &format!("/sessions/{held}")).await.is(200);
    family.fixture.end().await;
}

#[tokio::test]
async fn a_token_sees_and_revokes_those_that_it_made() {
    let (_database, pool) = TestDatabase::create().await;
    let family = Family::new(EnvironmentFixture::new(&pool).await).await;
    for (maker, made) in SESSIONS {
        let by = family.token(maker);
        let list = family.fixture.of_organization(by, Method::GET, "/api-tokens", Value::Null).await;
        let mut names: Vec<_> =
            list["data"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        let mut expected = made.to_vec();
        expected.sort_unstable();
        assert_eq!(names, expected, "{maker}");
        for (name, token) in family.tokens.iter().filter(|(name, _)| !made.contains(name)) {
            let path = format!("/organizations/acme/api-tokens/{}", token.token_id);
            let (status, json) = family.fixture.server.json(Method::DELETE, &path, &by.token, None).await;
            assert_eq!(status.as_u16(), 404, "{maker} revokes {name}: {json}");
        }
    }
    family.fixture.end().await;
}
