//! Pipelines: created, updated, stopped, resumed and archived.

use reqwest::Method;
use serde_json::{Value, json};

use crate::requests::{new_pipeline, problem, success, wrong_field};
use crate::support::database::TestDatabase;
use crate::support::{Caller, DEFINITION, TestServer};

async fn put(server: &TestServer, caller: &Caller, path: &str, body: Value) -> Value {
    let response = server.request(caller, Method::PUT, path).json(&body).send().await.unwrap();
    success(response, 200).await["data"].take()
}

#[tokio::test]
async fn a_pipeline_is_created() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body = json!({ "name": "  Web Shop (EU) ", "repository": "https://git.test/shop", "definition": DEFINITION });
    let made = server.post(&owner, "/pipelines", body).await;
    let id = made["id"].as_str().unwrap();
    assert!(id.starts_with("pip_"));
    let expected = json!({
        "id": id, "name": "Web Shop (EU)", "slug": "web-shop-eu", "status": "active", "stop": null,
        "repository": "https://git.test/shop", "definitionVersion": 1, "lastDeployment": null,
        "createdAt": made["createdAt"], "updatedAt": made["updatedAt"], "webUrl": null,
        "environments": { "total": 0, "free": 0 }, "recentDeployments": [],
    });
    assert_eq!(made, expected);
    assert!(made["createdAt"].as_str().unwrap().ends_with('Z'), "{made}");
    for path in [format!("/pipelines/{id}"), "/pipelines/web-shop-eu".to_owned()] {
        assert_eq!(server.get(&owner, &path).await["data"], made);
    }
    assert_eq!(server.get(&owner, "/pipelines").await["data"], json!([made]));
    server.end().await;
}

#[tokio::test]
async fn slugs_are_derived_from_names_and_unique() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (owner, other) = (server.organization("acme").await, server.organization("other").await);
    let create = |body: Value| server.request(&owner, Method::POST, "/pipelines").json(&body).send();
    for (name, slug) in [("Web", "web"), ("Ünïcode & more", "n-code-more"), ("99 Bottles", "bottles")] {
        assert_eq!(server.post(&owner, "/pipelines", new_pipeline(name)).await["slug"], slug, "{name}");
    }
    let long = "a".repeat(63);
    let given = json!({ "name": "Long", "slug": long, "definition": DEFINITION });
    assert_eq!(server.post(&owner, "/pipelines", given).await["slug"], long);
    // Derived from the name or given, in any case.
    for taken in [new_pipeline("WEB"), json!({ "name": "Other", "slug": "web", "definition": DEFINITION })] {
        assert_eq!(problem(create(taken).await.unwrap(), 409, "slug_taken").await["slug"], "web");
    }
    for reserved_slug in ["claim", "events", "validate", "history", "queue"] {
        let reserved = json!({ "name": "x", "slug": reserved_slug, "definition": DEFINITION });
        wrong_field(create(reserved).await.unwrap(), "/slug").await;
        wrong_field(create(new_pipeline(reserved_slug)).await.unwrap(), "/slug").await;
    }
    for bad in ["", "-a", "1a", "a_b", "a.b", "é", &"a".repeat(64)] {
        let bad = json!({ "name": "x", "slug": bad, "definition": DEFINITION });
        wrong_field(create(bad).await.unwrap(), "/slug").await;
    }
    wrong_field(create(new_pipeline("…")).await.unwrap(), "/slug").await;
    server.post(&other, "/pipelines", new_pipeline("Web")).await;
    // A rename into a taken slug is refused too, and changes nothing.
    let rename = server
        .request(&owner, Method::PUT, "/pipelines/bottles")
        .json(&json!({ "slug": "web", "name": "B" }));
    problem(rename.send().await.unwrap(), 409, "slug_taken").await;
    assert_eq!(server.get(&owner, "/pipelines/bottles").await["data"]["name"], "99 Bottles");
    server.end().await;
}

#[tokio::test]
async fn a_changed_definition_creates_a_version() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let first = server.post(&owner, "/pipelines", new_pipeline("Web")).await;
    let same = put(&server, &owner, "/pipelines/web", json!({ "definition": DEFINITION })).await;
    assert_eq!(same, first, "the same text changes nothing, not even the time");
    let edited =
        put(&server, &owner, "/pipelines/web", json!({ "name": "Shop", "definition": DEFINITION })).await;
    assert_eq!((&edited["name"], &edited["definitionVersion"]), (&json!("Shop"), &json!(1)));
    // A version is its text, so a changed comment is a new version.
    let second = format!("{DEFINITION}# more\n");
    let edited = put(&server, &owner, "/pipelines/web", json!({ "definition": second })).await;
    assert_eq!(edited["definitionVersion"], 2);
    // Going back to the first text creates a third version.
    let edited = put(&server, &owner, "/pipelines/web", json!({ "definition": DEFINITION })).await;
    assert_eq!(edited["definitionVersion"], 3);
    let wrong =
        server.request(&owner, Method::PUT, "/pipelines/web").json(&json!({ "definition": "stages: 1" }));
    problem(wrong.send().await.unwrap(), 422, "invalid_definition").await;

    let versions = server.get(&owner, "/pipelines/web/versions").await;
    assert_eq!(versions["pagination"]["total"], 3);
    let listed = versions["data"].as_array().unwrap();
    assert_eq!(listed.iter().map(|v| v["version"].as_i64().unwrap()).collect::<Vec<_>>(), [3, 2, 1]);
    assert!(listed.iter().all(|version| version.get("definition").is_none()), "texts are left out of lists");
    assert_eq!(listed[0]["digest"], listed[2]["digest"]);
    assert_ne!(listed[0]["digest"], listed[1]["digest"]);
    assert!(listed[0]["digest"].as_str().is_some_and(|d| d.starts_with("sha256:") && d.len() == 71));
    assert_eq!(listed[0]["createdBy"], json!({ "id": owner.user, "name": "Owner" }));
    let page = server.get(&owner, "/pipelines/web/versions?limit=1&offset=1").await;
    assert_eq!((page["data"].as_array().unwrap().len(), &page["data"][0]["version"]), (1, &json!(2)));
    for (version, text) in [(1, DEFINITION), (2, second.as_str()), (3, DEFINITION)] {
        let response = server.get(&owner, &format!("/pipelines/web/versions/{version}")).await;
        assert_eq!(response["data"]["definition"], text);
        assert_eq!(response["data"]["version"], version);
    }
    let beyond = server.request(&owner, Method::GET, "/pipelines/web/versions/4").send().await.unwrap();
    problem(beyond, 404, "not_found").await;
    server.end().await;
}

#[tokio::test]
async fn omitted_fields_keep_their_values() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body = json!({ "name": "Web", "repository": "https://git.test/web", "definition": DEFINITION });
    let first = server.post(&owner, "/pipelines", body).await;
    assert_eq!(put(&server, &owner, "/pipelines/web", json!({})).await, first);
    let renamed = put(&server, &owner, "/pipelines/web", json!({ "name": "Shop" })).await;
    assert_eq!((&renamed["slug"], &renamed["repository"]), (&json!("web"), &json!("https://git.test/web")));
    let moved = put(&server, &owner, "/pipelines/web", json!({ "slug": "shop" })).await;
    assert_eq!((&moved["slug"], &moved["id"]), (&json!("shop"), &first["id"]));
    let old = server.request(&owner, Method::GET, "/pipelines/web").send().await.unwrap();
    problem(old, 404, "not_found").await;
    let cleared = put(&server, &owner, "/pipelines/shop", json!({ "repository": null })).await;
    assert_eq!((&cleared["repository"], &cleared["name"]), (&Value::Null, &json!("Shop")));
    let given = put(&server, &owner, "/pipelines/shop", json!({ "repository": "git@elsewhere:web" })).await;
    assert_eq!(given["repository"], "git@elsewhere:web");
    server.end().await;
}

#[tokio::test]
async fn a_pipeline_is_stopped_and_resumed() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let made = server.post(&owner, "/pipelines", new_pipeline("Web")).await;
    for mode in ["drain", "pause", "cancel"] {
        let stopped =
            server.post(&owner, "/pipelines/web/stop", json!({ "mode": mode, "reason": " too red " })).await;
        assert_eq!(stopped["status"], "stopped");
        let at = &stopped["stop"]["at"];
        assert_eq!(
            stopped["stop"],
            json!({ "mode": mode, "reason": "too red", "by": owner.user, "byName": "Owner", "at": at })
        );
        // Repeating it, with or without the reason, changes nothing; another reason does.
        for same in [json!({ "mode": mode, "reason": "too red" }), json!({ "mode": mode })] {
            assert_eq!(server.post(&owner, "/pipelines/web/stop", same).await, stopped);
        }
        let other = json!({ "mode": mode, "reason": "still red" });
        let stopped = server.post(&owner, "/pipelines/web/stop", other).await;
        assert_eq!(
            (&stopped["stop"]["mode"], &stopped["stop"]["reason"]),
            (&json!(mode), &json!("still red"))
        );
        assert_eq!(server.get(&owner, "/pipelines?status=stopped").await["data"], json!([stopped]));
    }
    // A stopped pipeline can be edited.
    assert_eq!(put(&server, &owner, "/pipelines/web", json!({ "name": "Shop" })).await["status"], "stopped");
    let resumed = server.post(&owner, "/pipelines/web/resume", json!({ "reason": "green" })).await;
    assert_eq!((&resumed["status"], &resumed["stop"]), (&json!("active"), &Value::Null));
    assert_eq!(server.post(&owner, "/pipelines/web/resume", json!({})).await, resumed);
    assert_eq!(resumed["id"], made["id"]);
    server.end().await;
}

#[tokio::test]
async fn archiving_a_pipeline_is_final() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = server.pipeline(&owner, "Web").await;
    server.post(&owner, "/pipelines/web/stop", json!({})).await;
    let by_id = format!("/pipelines/{id}");
    let archive = || server.request(&owner, Method::DELETE, &by_id).send();
    let mut archived = success(archive().await.unwrap(), 200).await;
    assert_eq!((&archived["data"]["status"], &archived["data"]["stop"]), (&json!("archived"), &Value::Null));
    assert_eq!(success(archive().await.unwrap(), 200).await, archived);
    // Only the response to the archiving request has the field `ended`.
    assert_eq!(archived["data"].as_object_mut().unwrap().remove("ended"), Some(json!([])));
    assert_eq!(server.get(&owner, &by_id).await, archived);
    assert_eq!(server.get(&owner, &format!("{by_id}/versions/1")).await["data"]["definition"], DEFINITION);
    for method in [Method::GET, Method::DELETE] {
        let by_slug = server.request(&owner, method, "/pipelines/web").send().await.unwrap();
        problem(by_slug, 404, "not_found").await;
    }
    for (method, path) in [(Method::PUT, ""), (Method::POST, "/stop"), (Method::POST, "/resume")] {
        let refused =
            server.request(&owner, method, &format!("{by_id}{path}")).json(&json!({})).send().await.unwrap();
        problem(refused, 409, "pipeline_archived").await;
    }
    assert_eq!(server.get(&owner, "/pipelines").await["data"], json!([]));
    assert_eq!(server.get(&owner, "/pipelines?status=archived").await["data"], json!([archived["data"]]));
    // The slug can be used again, twice.
    for _ in 0..2 {
        let next = server.pipeline(&owner, "Web").await;
        assert_eq!(server.get(&owner, "/pipelines/web").await["data"]["id"], next);
        success(server.request(&owner, Method::DELETE, "/pipelines/web").send().await.unwrap(), 200).await;
    }
    assert_eq!(server.get(&owner, "/pipelines?status=archived").await["pagination"]["total"], 3);
    server.end().await;
}

#[tokio::test]
async fn a_definition_is_validated_without_being_saved() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    let report = server.post(&viewer, "/pipelines/validate", json!({ "definition": DEFINITION })).await;
    assert_eq!((&report["valid"], &report["errors"]), (&json!(true), &json!([])));
    assert!(
        report["definition"]["stages"].is_object() || report["definition"]["stages"].is_array(),
        "{report}"
    );
    let wrong = "stages:\n  build:\n    stepz: []\n    needs: [nothing]\n";
    let report = server.post(&viewer, "/pipelines/validate", json!({ "definition": wrong })).await;
    assert_eq!((&report["valid"], &report["definition"]), (&json!(false), &Value::Null));
    let first = &report["errors"][0];
    assert_eq!(
        (&first["line"], &first["column"], &first["suggestion"]),
        (&json!(3), &json!(5), &json!("steps")),
        "{report}"
    );
    for definition in
        ["", "\t", "{", "[", "- a", "null", "&a [*a]", "!!python/object:os.system {}", "stages: *x"]
    {
        let report = server.post(&viewer, "/pipelines/validate", json!({ "definition": definition })).await;
        assert_eq!(report["valid"], false, "{definition}");
        let errors = report["errors"].as_array().unwrap();
        assert!(!errors.is_empty(), "{definition}");
        for error in errors {
            let place = ["line", "column"].map(|name| error[name].as_u64().unwrap_or(0));
            assert!(place.iter().all(|number| *number >= 1), "{definition}: {error}");
        }
    }
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 0);
    server.end().await;
}
