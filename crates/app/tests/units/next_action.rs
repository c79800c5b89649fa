//! The requests that a refusal suggests.

use greenroom_app::next_action::{body, commit};
use greenroom_app::session::ClaimRequest;
use serde_json::{Value, json};

#[test]
fn a_body_has_exactly_the_fields_that_were_sent() {
    let claim = ClaimRequest {
        commit_id: Some("0123abc".to_owned()),
        branch: Some("main".to_owned()),
        context: Some("checkout fix".to_owned()),
        ttl_seconds: Some(600),
        ..ClaimRequest::default()
    };
    let expected = json!({
        "commitId": "0123abc", "branch": "main", "context": "checkout fix", "ttlSeconds": 600,
    });
    assert_eq!(Value::from(body(&claim)), expected);
    assert_eq!(Value::from(commit(&claim)), json!({ "commitId": "0123abc", "branch": "main" }));
    assert_eq!(Value::from(body(&ClaimRequest::default())), json!({}));
}
