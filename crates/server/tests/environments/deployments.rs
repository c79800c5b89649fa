//! What a deployment waits for, the views that contain deployments, and entity tags.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn a_live_deployment_always_lists_what_it_waits_for() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({ "commitId": "0123abc" })).await.session();
    let path = format!("/sessions/{session}");
    let deployments = fixture.get(&fixture.dev, &path).await.is(200)["data"]["deployments"].clone();
    assert_eq!(deployments[0]["waitingOn"], json!([{ "kind": "engine" }]));
    assert_eq!(deployments[0]["deadlineAt"], Value::Null);
    let body = json!({ "commitId": "1111111" });
    let second = fixture.send(&fixture.dev, Method::POST, &format!("{path}/deploy"), body).await.is(202);
    let slot = json!({ "kind": "work_slot", "deploymentId": deployments[0]["id"] });
    assert_eq!(second["data"]["waitingOn"], json!([slot]));

    let stop = format!("/organizations/acme/pipelines/{}/stop", fixture.pipeline);
    fixture.server.json(Method::POST, &stop, &fixture.owner.token, Some(json!({}))).await;
    let stopped = json!({ "kind": "pipeline_stopped" });
    let deployments = fixture.get(&fixture.dev, &path).await.is(200)["data"]["deployments"].clone();
    assert_eq!(deployments[0]["waitingOn"], json!([slot, stopped]));
    assert_eq!(deployments[1]["waitingOn"], json!([stopped]));
    let last = fixture.get(&fixture.dev, "").await.is(200)["data"]["lastDeployment"].clone();
    assert_eq!(last["id"], deployments[0]["id"], "the newest");

    let released = fixture.delete(&fixture.dev, &path).await.is(200);
    for ended in released["data"]["deployments"].as_array().unwrap() {
        assert_eq!(ended["waitingOn"], json!([]), "an ended deployment waits for nothing");
    }
    fixture.end().await;
}

#[tokio::test]
async fn the_history_lists_the_deployments_of_each_session() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    for commits in [vec!["aaaaaaa"], vec![], vec!["bbbbbbb", "ccccccc"]] {
        let session = fixture.claim(&fixture.dev, json!({})).await.session();
        for commit in commits {
            let path = format!("/sessions/{session}/deploy");
            fixture.send(&fixture.dev, Method::POST, &path, json!({ "commitId": commit })).await.is(202);
        }
        fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    }
    let history = fixture.get(&fixture.mate, "/history").await.is(200);
    let commits: Vec<Vec<&str>> = history["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["deployments"].as_array().unwrap())
        .map(|deployments| deployments.iter().map(|one| one["commitId"].as_str().unwrap()).collect())
        .collect();
    assert_eq!(commits, [vec!["ccccccc", "bbbbbbb"], vec![], vec!["aaaaaaa"]]);
    fixture.end().await;
}

#[tokio::test]
async fn the_etag_changes_with_the_record() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    let base = format!(
        "{}/organizations/acme/pipelines/{}/ephemeral-environments/qa-1",
        fixture.server.base, fixture.pipeline
    );
    let get = async |path: &str, known_tag: Option<&str>| {
        let mut request = fixture.server.client.get(format!("{base}{path}")).bearer_auth(&fixture.mate.token);
        if let Some(known_tag) = known_tag {
            request = request.header("if-none-match", known_tag);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.headers()["etag"].to_str().unwrap().to_owned())
    };
    for path in [String::new(), format!("/sessions/{session}")] {
        let (status, tag) = get(&path, None).await;
        assert_eq!(status, 200);
        assert_eq!(get(&path, Some(&tag)).await, (304, tag.clone()));
        assert_eq!(get(&path, Some(&format!("\"other\", W/{tag}"))).await.0, 304);
        assert_eq!(get(&path, Some("\"other\"")).await.0, 200);
        fixture
            .send(&fixture.dev, Method::POST, &format!("/sessions/{session}/renew"), json!({}))
            .await
            .is(200);
        let (status, renewed) = get(&path, Some(&tag)).await;
        assert_eq!(status, 200);
        assert_ne!(renewed, tag);
    }
    fixture.end().await;
}
