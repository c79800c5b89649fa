//! What goes over the wire, in both protocols.

use greenroom_analysis::model::{Confidence, Explanation, Model, Prompt, Usage};
use greenroom_domain::model::ModelProtocol;
use serde_json::{Value, json};

use crate::fixture::{KEY, KINDS, context, envelope, explain, explanation, limits, model};
use crate::server::{ModelServer, Received, Reply};

fn expected() -> Explanation {
    Explanation {
        category: Some("database".to_owned()),
        evidence: vec!["E1".to_owned()],
        suspects: vec!["C1".to_owned()],
        cause: Some("The migration did not run.".to_owned()),
        next: vec!["Run the migration before the seed.".to_owned()],
        confidence: Confidence::High,
        is_enough: true,
        dropped_references: 0,
    }
}

async fn exchange(kind: ModelProtocol) -> (Received, Prompt) {
    let server = ModelServer::start(move |_, _| Reply::ok(envelope(kind, &explanation().to_string()))).await;
    let completion = explain(&server, kind, &context(), &limits()).await.unwrap();
    assert_eq!(completion.explanation, expected());
    assert_eq!(completion.usage, Usage { input_tokens: 1000, output_tokens: 50, is_estimated: false });
    assert_eq!((completion.attempts, server.count()), (1, 1));
    (server.received().remove(0), Prompt::new(&context()).unwrap())
}

fn remove_bounds(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "maxItems" | "maxLength"));
            fields.values_mut().for_each(remove_bounds);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_bounds),
        _ => {}
    }
}

fn keys(value: &Value) -> Vec<&String> {
    value.as_object().unwrap().keys().collect()
}

#[tokio::test]
async fn openai() {
    let (received, prompt) = exchange(ModelProtocol::OpenAi).await;
    assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(received.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(received.headers["content-type"], "application/json");
    assert!(!received.headers.contains_key("x-api-key"));
    let schema: Value = serde_json::from_str(prompt.schema_json()).unwrap();
    let body = json!({
        "model": "test-model",
        "stream": false,
        "messages": [
            {"role": "system", "content": prompt.instructions()},
            {"role": "user", "content": prompt.data()},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "explanation", "strict": true, "schema": schema},
        },
        "max_tokens": 4096,
    });
    assert_eq!(received.body, body);
    // The order of the properties is sent too.
    assert!(received.raw_body.contains(prompt.schema_json()));
}

#[tokio::test]
async fn anthropic() {
    let (received, prompt) = exchange(ModelProtocol::Anthropic).await;
    assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(received.headers["x-api-key"], KEY);
    assert_eq!(received.headers["anthropic-version"], "2023-06-01");
    assert_eq!(received.headers["content-type"], "application/json");
    assert!(!received.headers.contains_key("authorization"));
    // It supports no bounds on lengths.
    let mut schema: Value = serde_json::from_str(prompt.schema_json()).unwrap();
    remove_bounds(&mut schema);
    let body = json!({
        "model": "test-model",
        "stream": false,
        "system": prompt.instructions(),
        "messages": [{"role": "user", "content": prompt.data()}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
        "max_tokens": 4096,
    });
    assert_eq!(received.body, body);
}

#[tokio::test]
async fn without_a_key_no_credentials_are_sent() {
    for kind in KINDS {
        let server =
            ModelServer::start(move |_, _| Reply::ok(envelope(kind, &explanation().to_string()))).await;
        let prompt = Prompt::new(&context()).unwrap();
        model(&server, kind).explain(&prompt, None, &limits()).await.unwrap();
        let headers = &server.received()[0].headers;
        assert!(!headers.contains_key("authorization") && !headers.contains_key("x-api-key"));
    }
}

#[tokio::test]
async fn the_key_is_in_its_header_alone() {
    for kind in KINDS {
        let (received, _) = exchange(kind).await;
        assert!(!received.raw_body.contains(KEY) && !received.path.contains(KEY));
        assert_eq!(received.headers.values().filter(|value| value.contains(KEY)).count(), 1);
    }
}

#[tokio::test]
async fn no_tools_are_offered() {
    for kind in KINDS {
        let (received, _) = exchange(kind).await;
        assert!(!keys(&received.body).iter().any(|name| name.contains("tool") || name.contains("function")));
    }
}

#[tokio::test]
async fn usage_that_is_not_reported_is_estimated() {
    for kind in KINDS {
        let server = ModelServer::start(move |_, _| {
            let mut body = envelope(kind, &explanation().to_string());
            body.as_object_mut().unwrap().remove("usage");
            Reply::ok(body)
        })
        .await;
        let completion = explain(&server, kind, &context(), &limits()).await.unwrap();
        let bytes = Prompt::new(&context()).unwrap().bytes() as u64;
        let expected = Usage { input_tokens: bytes, output_tokens: 4096, is_estimated: true };
        assert_eq!(completion.usage, expected);
    }
}

#[tokio::test]
async fn absurd_usage_is_bounded() {
    for kind in KINDS {
        let server = ModelServer::start(move |_, _| {
            let mut body = envelope(kind, &explanation().to_string());
            let usage = body["usage"].as_object_mut().unwrap();
            usage.values_mut().for_each(|count| *count = json!(u64::MAX));
            Reply::ok(body)
        })
        .await;
        let usage = explain(&server, kind, &context(), &limits()).await.unwrap().usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (10_000_000, 10_000_000));
    }
}

#[tokio::test]
async fn an_endpoint_that_rejects_bounds_gets_the_schema_without_them() {
    for status in [400, 422] {
        let server = ModelServer::start(move |received, _| {
            if received.raw_body.contains("maxLength") || received.raw_body.contains("maxItems") {
                return Reply::status(status);
            }
            Reply::ok(envelope(ModelProtocol::OpenAi, &explanation().to_string()))
        })
        .await;
        let completion = explain(&server, ModelProtocol::OpenAi, &context(), &limits()).await.unwrap();
        assert_eq!((completion.attempts, completion.usage.total(), server.count()), (2, 1_050, 2));
        let (mut first, second) = (server.received()[0].body.clone(), server.received()[1].body.clone());
        remove_bounds(&mut first);
        assert_eq!(first, second);
    }
}
