//! A failure, a key, and models that are reached at a server of a test.

use std::time::Duration;

use greenroom_analysis::model::{
    Change, ChangeKind, Completion, EvidenceItem, FailureContext, HttpModel, Limits, Model, ModelFailure,
    OutboundTransport, Prompt,
};
use greenroom_domain::model::{Endpoint, ModelProtocol};
use greenroom_domain::secret::Secret;
use greenroom_outbound::{AllowList, OutboundClient, Purpose, Requester};
use serde_json::{Value, json};

use crate::server::ModelServer;

pub const KEY: &str = "key-0123-of-the-organization";
pub const KINDS: [ModelProtocol; 2] = [ModelProtocol::OpenAi, ModelProtocol::Anthropic];
pub const CATEGORIES: [&str; 11] = [
    "compile",
    "test",
    "dependency",
    "configuration",
    "network",
    "database",
    "resource",
    "timeout",
    "platform",
    "gate",
    "unknown",
];

pub fn key() -> Secret {
    Secret::new(KEY.as_bytes().to_vec()).unwrap()
}

/// Fast, so that tests don't wait; the deadline is long enough for a busy machine.
pub fn limits() -> Limits {
    Limits {
        request_timeout: Duration::from_secs(10),
        deadline: Duration::from_secs(30),
        backoff: Duration::from_millis(10),
        ..Limits::default()
    }
}

pub fn context() -> FailureContext {
    let evidence = |id: &str, text: &str| EvidenceItem {
        id: id.to_owned(),
        from_line: 1812,
        to_line: 1813,
        text: text.to_owned(),
    };
    FailureContext {
        stage: "deploy".to_owned(),
        step: "migrate".to_owned(),
        exit_code: Some(1),
        reason: "step_failed".to_owned(),
        verdict: "yours".to_owned(),
        verdict_because: vec!["good_before".to_owned()],
        category: "database".to_owned(),
        categories: CATEGORIES.map(str::to_owned).to_vec(),
        evidence: vec![
            evidence("E1", "ERROR: schema version 41 expected, found 40"),
            evidence("E2", "ERROR worker 1: query failed: relation missing"),
        ],
        changes: vec![Change {
            id: "C1".to_owned(),
            kind: ChangeKind::Commit,
            title: "seed before migrate".to_owned(),
            files: vec!["db/41.sql".to_owned()],
        }],
        definition: "stage: deploy".to_owned(),
    }
}

pub fn explanation() -> Value {
    json!({
        "evidence": ["E1"], "suspects": ["C1"], "category": "database", "cause": "The migration did not run.",
        "next": ["Run the migration before the seed."], "confidence": "high", "enough": true,
    })
}

/// Wraps the text of a model as its provider does.
pub fn envelope(kind: ModelProtocol, text: &str) -> Value {
    match kind {
        ModelProtocol::OpenAi => json!({
            "id": "x", "object": "chat.completion", "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
        }),
        ModelProtocol::Anthropic => json!({
            "id": "x", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 900, "cache_creation_input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 50},
        }),
    }
}

/// Sends requests by the product's client, which may connect to these networks.
pub fn transport(networks: &str) -> OutboundTransport {
    let networks = networks.split_whitespace().map(|network| network.parse().unwrap());
    let client = OutboundClient::new(AllowList::new(networks));
    OutboundTransport::new(client, Requester::operator(Purpose::Model))
}

pub fn model(server: &ModelServer, kind: ModelProtocol) -> HttpModel<OutboundTransport> {
    HttpModel::new(transport("127.0.0.0/8"), Endpoint::new(kind, &server.url(), "test-model").unwrap())
}

pub async fn explain(
    server: &ModelServer,
    kind: ModelProtocol,
    context: &FailureContext,
    limits: &Limits,
) -> Result<Completion, ModelFailure> {
    model(server, kind).explain(&Prompt::new(context).unwrap(), Some(&key()), limits).await
}
