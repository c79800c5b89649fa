//! The stream of a deployment: a snapshot, then its changes, to its end.

use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::runs::DIAMOND;
use crate::support::Caller;
use crate::support::database::TestDatabase;

const TIMEOUT: Duration = Duration::from_secs(10);

struct Message {
    event: String,
    id: String,
    data: Value,
}

struct Stream {
    response: Response,
    text: String,
}

impl Stream {
    async fn open(fixture: &DeploymentFixture, by: &Caller, id: &str, last: Option<&str>) -> Self {
        let url = format!("{}/organizations/acme/deployments/{id}/stream", fixture.server.base);
        let mut request = fixture.server.client.get(url).bearer_auth(&by.token);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// Returns the next message; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(event), Some(id), Some(data)) =
                    (field("event: "), field("id: "), field("data: "))
                {
                    let data = serde_json::from_str(data).unwrap();
                    return Some(Message { event: event.to_owned(), id: id.to_owned(), data });
                }
                continue;
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await.unwrap().unwrap();
            self.text += &String::from_utf8_lossy(&chunk?);
        }
    }

    /// Returns the next message, which is a change, and applies it to the deployment.
    async fn change(&mut self, deployment: &mut Value) -> Message {
        let message = self.next().await.unwrap();
        assert_eq!(message.event, "change", "{}", message.data);
        let mut stages = deployment["stages"].as_array().cloned().unwrap_or_default();
        for changed in message.data["stages"].as_array().into_iter().flatten() {
            match stages.iter_mut().find(|stage| stage["key"] == changed["key"]) {
                Some(stage) => *stage = changed.clone(),
                None => stages.push(changed.clone()),
            }
        }
        *deployment = message.data.clone();
        deployment["stages"] = json!(stages);
        message
    }

    /// Reads changes until the condition holds for the deployment.
    async fn until(&mut self, deployment: &mut Value, holds: impl Fn(&Value) -> bool) -> Message {
        loop {
            let message = self.change(deployment).await;
            if holds(deployment) {
                return message;
            }
        }
    }
}

#[tokio::test]
async fn a_stream_sends_a_snapshot_and_then_changes_to_the_end() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let viewer = fixture.server.member(&fixture.owner, "acme", "viewer").await;
    let mut stream = Stream::open(&fixture, &viewer, &id, None).await;
    let snapshot = stream.next().await.unwrap();
    assert_eq!((snapshot.event.as_str(), &snapshot.data), ("snapshot", &fixture.deployment(&id).await));
    let mut deployment = snapshot.data;

    let job = fixture.take(&fixture.advance(&id).await).await;
    stream.until(&mut deployment, |deployment| deployment["stages"][0]["status"] == "running").await;
    // A step records no event, and is a change nevertheless. Other stages are not repeated.
    let step = &job.steps[0];
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    let change = stream
        .until(&mut deployment, |deployment| deployment["stages"][0]["steps"][0]["status"] == "running")
        .await;
    assert_eq!(change.data["stages"].as_array().unwrap().len(), 1, "{}", change.data);
    assert_eq!(deployment, fixture.deployment(&id).await);

    // A log that grows is no change.
    assert_eq!(fixture.log(&job, step, 0, b"hello\n".to_vec()).await.0, 200);
    let last = change.id;
    let end = json!({ "status": "failed", "exitCode": 3, "logBytes": 6 });
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/end"), end).await.0, 200);
    let change = stream.change(&mut deployment).await;
    assert_eq!(change.data["stages"][0]["steps"][0]["exitCode"], 3, "{}", change.data);

    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    fixture.advance(&id).await;
    let change = stream.until(&mut deployment, |deployment| deployment["status"] == "failed").await;
    assert_eq!(deployment, fixture.deployment(&id).await);
    let end = stream.next().await.unwrap();
    assert_eq!((end.event.as_str(), &end.id), ("end", &change.id));
    assert!(stream.next().await.is_none());

    // A client that has the newest state gets no snapshot, and one with an older state does.
    let mut current = Stream::open(&fixture, &viewer, &id, Some(&end.id)).await;
    assert_eq!(current.next().await.unwrap().event, "end");
    for older in [last.as_str(), "0", "none of ours"] {
        let mut stale = Stream::open(&fixture, &viewer, &id, Some(older)).await;
        assert_eq!(stale.next().await.unwrap().event, "snapshot");
        assert_eq!(stale.next().await.unwrap().event, "end");
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_stream_resumes_where_it_was_interrupted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let mut stream = Stream::open(&fixture, &fixture.owner, &id, None).await;
    let snapshot = stream.next().await.unwrap();
    drop(stream);
    let mut again = Stream::open(&fixture, &fixture.owner, &id, Some(&snapshot.id)).await;
    fixture.advance(&id).await;
    let mut deployment = snapshot.data;
    again.until(&mut deployment, |deployment| deployment["status"] == "running").await;
    assert_eq!(deployment, fixture.deployment(&id).await);
    fixture.end().await;
}

/// Another organization can neither follow a deployment nor delay its stream, and a stream ends with its right.
#[tokio::test]
async fn a_stream_belongs_to_its_organization_and_ends_with_its_right() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let member = fixture.server.member(&fixture.owner, "acme", "viewer").await;
    let mut stream = Stream::open(&fixture, &member, &id, None).await;
    let mut deployment = stream.next().await.unwrap().data;

    let stranger = fixture.server.organization("rival").await;
    let attack = async {
        for path in ["/organizations/rival/deployments/", "/organizations/acme/deployments/"] {
            for _ in 0..20 {
                let path = format!("{path}{id}/stream");
                let response = fixture.server.send(Method::GET, &path, Some(&stranger.token), None).await;
                assert_eq!(response.status(), StatusCode::NOT_FOUND);
            }
        }
    };
    let progress = async {
        fixture.advance(&id).await;
        stream.until(&mut deployment, |deployment| deployment["status"] == "running").await;
    };
    tokio::join!(attack, progress);

    let path = format!("/organizations/acme/members/{}", member.user);
    let (status, _) = fixture.server.json(Method::DELETE, &path, &fixture.owner.token, None).await;
    assert!(status.is_success(), "{status}");
    assert!(stream.next().await.is_none(), "no message `end`: the deployment goes on");
    fixture.end().await;
}

#[tokio::test]
async fn a_read_waits_for_the_end_if_the_client_prefers_it() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let url = format!("{}/organizations/acme/deployments/{id}", fixture.server.base);
    let read = async |wait: &str| {
        let request = fixture.server.client.get(&url).bearer_auth(&fixture.owner.token);
        let response = request.header("prefer", wait).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["preference-applied"], wait);
        response.json::<Value>().await.unwrap()["data"]["status"].clone()
    };
    assert_eq!(read("wait=1").await, "queued");
    let end = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        fixture.run_next_job(&id, 3).await;
    };
    let (status, ()) = tokio::join!(read("wait=20"), end);
    assert_eq!(status, "failed");
    assert_eq!(read("wait=20").await, "failed");
    fixture.end().await;
}
