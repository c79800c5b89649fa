//! What a deployment waits for, where deployments are shown, and how a reader learns that nothing changed.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::site::Site;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_live_one_always_says_what_it_waits_for(pool: PgPool) {
    let site = Site::new(&pool).await;
    let session = site.claim(&site.dev, json!({ "commitId": "0123abc" })).await.session();
    let path = format!("/sessions/{session}");
    let shown = site.get(&site.dev, &path).await.is(200)["data"]["deployments"].clone();
    assert_eq!(shown[0]["waitingOn"], json!([{ "kind": "engine" }]));
    assert_eq!(shown[0]["deadlineAt"], Value::Null);
    let body = json!({ "commitId": "1111111" });
    let second = site.send(&site.dev, Method::POST, &format!("{path}/deploy"), body).await.is(202);
    let slot = json!({ "kind": "work_slot", "deploymentId": shown[0]["id"] });
    assert_eq!(second["data"]["waitingOn"], json!([slot]));

    let stop = format!("/organizations/acme/pipelines/{}/stop", site.pipeline);
    site.server.json(Method::POST, &stop, &site.owner.token, Some(json!({}))).await;
    let stopped = json!({ "kind": "pipeline_stopped" });
    let shown = site.get(&site.dev, &path).await.is(200)["data"]["deployments"].clone();
    assert_eq!(shown[0]["waitingOn"], json!([slot, stopped]));
    assert_eq!(shown[1]["waitingOn"], json!([stopped]));
    let last = site.get(&site.dev, "").await.is(200)["data"]["lastDeployment"].clone();
    assert_eq!(last["id"], shown[0]["id"], "the newest");

    let released = site.delete(&site.dev, &path).await.is(200);
    for ended in released["data"]["deployments"].as_array().unwrap() {
        assert_eq!(ended["waitingOn"], json!([]), "what has ended waits for nothing");
    }
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_history_shows_each_sessions_own(pool: PgPool) {
    let site = Site::new(&pool).await;
    for commits in [vec!["aaaaaaa"], vec![], vec!["bbbbbbb", "ccccccc"]] {
        let session = site.claim(&site.dev, json!({})).await.session();
        for commit in commits {
            let path = format!("/sessions/{session}/deploy");
            site.send(&site.dev, Method::POST, &path, json!({ "commitId": commit })).await.is(202);
        }
        site.delete(&site.dev, &format!("/sessions/{session}")).await.is(200);
    }
    let history = site.get(&site.mate, "/history").await.is(200);
    let commits: Vec<Vec<&str>> = history["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["deployments"].as_array().unwrap())
        .map(|deployments| deployments.iter().map(|one| one["commitId"].as_str().unwrap()).collect())
        .collect();
    assert_eq!(commits, [vec!["ccccccc", "bbbbbbb"], vec![], vec!["aaaaaaa"]]);
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_tag_tells_whether_anything_changed(pool: PgPool) {
    let site = Site::new(&pool).await;
    let session = site.claim(&site.dev, json!({})).await.session();
    let base = format!(
        "{}/organizations/acme/pipelines/{}/ephemeral-environments/qa-1",
        site.server.base, site.pipeline
    );
    let ask = async |path: &str, seen: Option<&str>| {
        let mut request = site.server.client.get(format!("{base}{path}")).bearer_auth(&site.mate.token);
        if let Some(seen) = seen {
            request = request.header("if-none-match", seen);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.headers()["etag"].to_str().unwrap().to_owned())
    };
    for path in [String::new(), format!("/sessions/{session}")] {
        let (status, tag) = ask(&path, None).await;
        assert_eq!(status, 200);
        assert_eq!(ask(&path, Some(&tag)).await, (304, tag.clone()));
        assert_eq!(ask(&path, Some(&format!("\"other\", W/{tag}"))).await.0, 304);
        assert_eq!(ask(&path, Some("\"other\"")).await.0, 200);
        site.send(&site.dev, Method::POST, &format!("/sessions/{session}/renew"), json!({})).await.is(200);
        let (status, renewed) = ask(&path, Some(&tag)).await;
        assert_eq!(status, 200);
        assert_ne!(renewed, tag);
    }
    site.end().await;
}
