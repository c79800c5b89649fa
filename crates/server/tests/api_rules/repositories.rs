//! Addresses of repositories: credentials in them are rejected, and stored ones are masked.

use reqwest::Method;
use serde_json::{Value, json};

use crate::requests::wrong_field;
use crate::support::database::TestDatabase;
use crate::support::{DEFINITION, TestServer};

#[tokio::test]
async fn credentials_in_an_address_are_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    for address in [
        "https://user@git.test/web",
        "https://user:hunter2@git.test/web",
        "https://:token@git.test/web",
        "ssh://git:hunter2@git.test/web",
    ] {
        let body = json!({ "name": "Shop", "repository": address, "definition": DEFINITION });
        let response = server.request(&owner, Method::POST, "/pipelines").json(&body).send().await.unwrap();
        let refused = wrong_field(response, "/repository").await;
        let detail = refused["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("ssh") && detail.contains("deploy key"), "{detail}");
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
        let body = json!({ "repository": address });
        let response =
            server.request(&owner, Method::PUT, "/pipelines/web").json(&body).send().await.unwrap();
        wrong_field(response, "/repository").await;
    }
    for address in ["https://git.test/web.git?private_token=hunter2", "https://git.test/web#hunter2"] {
        let body = json!({ "name": "Shop", "repository": address, "definition": DEFINITION });
        let response = server.request(&owner, Method::POST, "/pipelines").json(&body).send().await.unwrap();
        let refused = wrong_field(response, "/repository").await;
        let detail = refused["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("`?` or `#`") && detail.contains("kind: checkout"), "{detail}");
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
        let body = json!({ "repository": address });
        let response =
            server.request(&owner, Method::PUT, "/pipelines/web").json(&body).send().await.unwrap();
        wrong_field(response, "/repository").await;
    }
    for address in ["/srv/git/web.git", "../web", "file:///srv/git/web.git", "web", "ext::sh -c id"] {
        let body = json!({ "repository": address });
        let response =
            server.request(&owner, Method::PUT, "/pipelines/web").json(&body).send().await.unwrap();
        wrong_field(response, "/repository").await;
    }
    for address in ["git@git.test:team/web.git", "ssh://git@git.test/web", "https://git.test/web"] {
        let body = json!({ "repository": address });
        let response =
            server.request(&owner, Method::PUT, "/pipelines/web").json(&body).send().await.unwrap();
        let updated: Value = response.json().await.unwrap();
        assert_eq!(updated["data"]["repository"], address);
    }
    server.end().await;
}

#[tokio::test]
async fn stored_credentials_are_not_shown() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    // Stored directly, as before addresses were checked.
    let address = "https://user:hunter2@git.test/web?private_token=hunter2";
    let old = sqlx::query("update pipelines set repository = $1").bind(address);
    assert_eq!(old.execute(&pool).await.unwrap().rows_affected(), 1);
    server.events_are_sequenced(&pool).await;
    let event = "update events set data = jsonb_set(data, '{after,repository}', to_jsonb($1::text))
                 where type = 'pipeline.created'";
    assert_eq!(sqlx::query(event).bind(address).execute(&pool).await.unwrap().rows_affected(), 1);

    let viewer = server.member(&owner, "acme", "viewer").await;
    let masked = "https://***@git.test/web?***";
    let response = server.get(&viewer, "/pipelines/web").await;
    assert_eq!(response["data"]["repository"], masked);
    assert_eq!(server.get(&viewer, "/pipelines").await["data"][0]["repository"], masked);
    // Sending back the masked address does not change the stored one.
    let body = json!({ "name": "Shop", "repository": masked });
    let response = server.request(&owner, Method::PUT, "/pipelines/web").json(&body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let kept: String = sqlx::query_scalar("select repository from pipelines").fetch_one(&pool).await.unwrap();
    assert_eq!(kept, address);
    let events = Value::from(server.events(&pool, &owner).await).to_string();
    assert!(events.contains(masked) && !events.contains("hunter2"), "{events}");
    server.end().await;
}

#[tokio::test]
async fn a_pipeline_is_found_by_any_spelling_of_its_repository() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    for (name, address) in [
        ("Web", Some("https://git.test/team/web.git")),
        ("Web Admin", Some("git@git.test:team/web")),
        ("Other", Some("https://git.test/team/web2")),
        ("None", None),
    ] {
        let body = json!({ "name": name, "repository": address, "definition": DEFINITION });
        server.post(&owner, "/pipelines", body).await;
    }
    let slugs = async |query: &str| {
        let list = server.get(&owner, &format!("/pipelines?{query}")).await;
        let rows = list["data"].as_array().unwrap().iter();
        let slugs: Vec<String> = rows.map(|row| row["slug"].as_str().unwrap().to_owned()).collect();
        assert_eq!(list["pagination"]["total"], slugs.len(), "{query}");
        slugs
    };
    for spelling in [
        "https://git.test/team/web",
        "ssh://git@git.test/team/web.git",
        "git@git.test:team/web.git",
        "https://ada:hunter2@GIT.test/Team/web/",
    ] {
        assert_eq!(slugs(&format!("repository={spelling}")).await, ["web", "web-admin"], "{spelling}");
    }
    assert_eq!(slugs("repository=https://git.test/team").await, Vec::<String>::new());
    assert_eq!(slugs("repository=https://git.test/team/web&q=ADMIN").await, ["web-admin"]);
    assert_eq!(slugs("q=web").await, ["web", "web-admin"]);
    assert_eq!(slugs("q=Web%20A").await, ["web-admin"], "a part of the name");
    assert_eq!(slugs("q=b-a").await, ["web-admin"], "a part of the slug");
    assert_eq!(slugs("q=web&status=stopped").await, Vec::<String>::new());
    assert_eq!(slugs("q=%25").await, Vec::<String>::new(), "not a wildcard");

    // The address is not repeated: it may contain a password.
    let path = "/pipelines?repository=https://ada:hunter2@git.test";
    let refused =
        wrong_field(server.request(&owner, Method::GET, path).send().await.unwrap(), "repository").await;
    assert!(!refused.to_string().contains("hunter2"), "{refused}");
    // An archived pipeline is found only as such.
    server.request(&owner, Method::DELETE, "/pipelines/web").send().await.unwrap();
    assert_eq!(slugs("repository=https://git.test/team/web").await, ["web-admin"]);
    assert_eq!(slugs("repository=https://git.test/team/web&status=archived").await, ["web"]);
    // Another organization's pipelines are not found.
    let stranger = server.organization("other").await;
    let list = server.get(&stranger, "/pipelines?repository=https://git.test/team/web").await;
    assert_eq!((&list["data"], &list["pagination"]["total"]), (&json!([]), &json!(0)));
    server.end().await;
}
