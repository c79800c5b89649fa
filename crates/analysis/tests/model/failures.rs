//! Endpoints that fail, or attack their client. Each ends with a typed error, in time, without text of the provider.

use std::time::{Duration, Instant};

use greenroom_analysis::model::{Completion, HttpModel, Limits, Model, ModelError, ModelFailure, Prompt};
use greenroom_domain::model::{Endpoint, ModelProtocol};
use greenroom_domain::secret::Secret;
use http::StatusCode;
use serde_json::json;

use crate::fixture::{KEY, KINDS, context, envelope, explain, explanation, key, limits, transport};
use crate::server::{ModelServer, Reply};

/// What a call may take beyond its limits, on a busy machine.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a script for both protocols, and returns the results with the number of requests.
async fn run(
    script: impl Fn(ModelProtocol, usize) -> Reply + Clone + Send + Sync + 'static,
    limits: Limits,
) -> Vec<(Result<Completion, ModelFailure>, usize)> {
    let mut results = Vec::new();
    for kind in KINDS {
        let script = script.clone();
        let server = ModelServer::start(move |_, before| script(kind, before)).await;
        let started = Instant::now();
        let result = explain(&server, kind, &context(), &limits).await;
        assert!(started.elapsed() < limits.deadline + GRACE);
        if let Err(failure) = &result {
            let text = format!("{failure} {failure:?}");
            assert!(!text.contains("PROVIDER-TEXT") && !text.contains(KEY), "{text}");
        }
        results.push((result, server.count()));
    }
    results
}

async fn assert_error(
    script: impl Fn(ModelProtocol, usize) -> Reply + Clone + Send + Sync + 'static,
    error: ModelError,
    requests: usize,
) {
    for (result, count) in run(script, limits()).await {
        let failure = result.unwrap_err();
        assert_eq!((failure.error, failure.attempts as usize, count), (error, requests, requests));
    }
}

fn good(kind: ModelProtocol) -> Reply {
    Reply::ok(envelope(kind, &explanation().to_string()))
}

#[tokio::test]
async fn broken_json_is_tried_once_more() {
    let broken = |kind| Reply::ok(envelope(kind, "{\"cause\": \"PROVIDER-TEXT"));
    let results =
        run(move |kind, before| if before == 0 { broken(kind) } else { good(kind) }, limits()).await;
    for (result, count) in results {
        let completion = result.unwrap();
        assert_eq!((completion.attempts, count), (2, 2));
        // Both responses are charged.
        assert_eq!(completion.usage.total(), 2_100);
    }
    assert_error(move |kind, _| broken(kind), ModelError::InvalidExplanation, 2).await;
}

#[tokio::test]
async fn a_wrong_schema_is_tried_once_more() {
    for (name, value) in
        [("tool", json!("shell")), ("confidence", json!(0.9)), ("enough", json!("PROVIDER-TEXT"))]
    {
        let script = move |kind, _| {
            let mut body = explanation();
            body[name] = value.clone();
            Reply::ok(envelope(kind, &body.to_string()))
        };
        assert_error(script, ModelError::InvalidExplanation, 2).await;
    }
}

#[tokio::test]
async fn a_response_of_another_protocol_is_tried_once_more() {
    for body in
        [json!({}), json!([]), json!({"choices": [], "content": "PROVIDER-TEXT"}), json!({"error": "x"})]
    {
        assert_error(move |_, _| Reply::ok(body.clone()), ModelError::InvalidResponse, 2).await;
    }
    let html = b"HTTP/1.1 200 OK\r\ncontent-length: 19\r\n\r\n<html>PROVIDER-TEXT".to_vec();
    assert_error(move |_, _| Reply::Raw(html.clone()), ModelError::InvalidResponse, 2).await;
}

#[tokio::test]
async fn lies_are_dropped_and_counted() {
    let script = |kind, _| {
        let mut body = explanation();
        body["evidence"] = json!(["E7", "E1", "E1812", "../../etc/passwd"]);
        body["suspects"] = json!(["C9", "E1"]);
        body["category"] = json!("sabotage");
        Reply::ok(envelope(kind, &body.to_string()))
    };
    for (result, count) in run(script, limits()).await {
        let explanation = result.unwrap().explanation;
        assert_eq!((explanation.evidence, explanation.suspects), (vec!["E1".to_owned()], vec![]));
        assert_eq!((explanation.category, explanation.dropped_references, count), (None, 6, 1));
    }
}

#[tokio::test]
async fn a_refusal_is_final() {
    let script = |kind, _| match kind {
        ModelProtocol::OpenAi => Reply::ok(json!({
            "choices": [{"finish_reason": "stop", "message": {"content": null, "refusal": "PROVIDER-TEXT"}}],
        })),
        ModelProtocol::Anthropic => Reply::ok(json!({"content": [], "stop_reason": "refusal"})),
    };
    assert_error(script, ModelError::Refused, 1).await;
}

#[tokio::test]
async fn a_slow_endpoint_times_out() {
    let limits = Limits { request_timeout: Duration::from_millis(300), ..limits() };
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n".to_vec();
    for start in [Vec::new(), head] {
        let script = move |_, _| Reply::Repeated {
            start: start.clone(),
            piece: if start.is_empty() { Vec::new() } else { b"{".to_vec() },
            interval: Duration::from_millis(20),
        };
        for (result, count) in run(script, limits).await {
            let failure = result.unwrap_err();
            assert_eq!((failure.error, count), (ModelError::Timeout, 1));
            // The provider may have charged for it.
            assert!(failure.usage.is_estimated && failure.usage.total() > 4_096);
        }
    }
}

#[tokio::test]
async fn unavailable_endpoints_are_tried_twice_more() {
    for (status, error) in [
        (429, ModelError::RateLimited(StatusCode::TOO_MANY_REQUESTS)),
        (500, ModelError::Unavailable(StatusCode::INTERNAL_SERVER_ERROR)),
        (503, ModelError::Unavailable(StatusCode::SERVICE_UNAVAILABLE)),
        (529, ModelError::Unavailable(StatusCode::from_u16(529).unwrap())),
    ] {
        assert_error(move |_, _| Reply::status(status), error, 3).await;
        let recovered = move |kind, before| if before < 2 { Reply::status(status) } else { good(kind) };
        for (result, count) in run(recovered, limits()).await {
            let completion = result.unwrap();
            // What was rejected is not charged.
            assert_eq!((completion.attempts, count, completion.usage.total()), (3, 3, 1_050));
        }
    }
}

#[tokio::test]
async fn all_retries_together_are_bounded() {
    let script = |kind, before| match before {
        0 | 2 => Reply::status(503),
        _ => Reply::ok(envelope(kind, "no JSON")),
    };
    assert_error(script, ModelError::InvalidExplanation, limits().max_attempts() as usize).await;
}

#[tokio::test]
async fn rejected_requests_are_final() {
    for status in [400, 401, 403, 404, 413, 422] {
        let error = ModelError::Rejected(StatusCode::from_u16(status).unwrap());
        for (result, count) in run(move |_, _| Reply::status(status), limits()).await {
            assert_eq!(result.unwrap_err().error, error);
            // OpenAI-compatible endpoints get the schema without bounds in a second request.
            assert!(count == 1 || count == 2 && matches!(status, 400 | 422), "{count}");
        }
    }
}

#[tokio::test]
async fn retry_after_is_honoured_up_to_its_bound() {
    let busy = |seconds: &str| {
        let header = Some(format!("retry-after: {seconds}"));
        Reply::Json { status: 429, header, body: json!({}) }
    };
    let error = ModelError::RateLimited(StatusCode::TOO_MANY_REQUESTS);
    assert_error(move |_, _| busy("99999999"), error, 1).await;
    for unusable in ["Fri, 31 Dec 2027 23:59:59 GMT", "-1", "soon", "99999999999999999999999999"] {
        assert_error(move |_, _| busy(unusable), error, 3).await;
    }
    let started = Instant::now();
    let script = move |kind, before| if before == 0 { busy("1") } else { good(kind) };
    for (result, count) in run(script, limits()).await {
        assert_eq!((result.unwrap().attempts, count), (2, 2));
    }
    assert!(started.elapsed() >= Duration::from_secs(2));
    // There is no time left for it.
    let limits = Limits { deadline: Duration::from_millis(900), ..limits() };
    for (result, count) in run(move |_, _| busy("1"), limits).await {
        assert_eq!((result.unwrap_err().error, count), (ModelError::Deadline, 1));
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_is_tried_once_more() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{\"choices\": [PROVIDER-TEXT".to_vec();
    assert_error(move |_, _| Reply::Raw(cut.clone()), ModelError::Connection, 2).await;
    assert_error(|_, _| Reply::Raw(Vec::new()), ModelError::Connection, 2).await;
}

#[tokio::test]
async fn an_endless_body_ends_with_an_error() {
    let chunk = [b"1000\r\n".to_vec(), vec![b' '; 0x1000], b"\r\n".to_vec()].concat();
    let script = move |_, _| Reply::Repeated {
        start: b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec(),
        piece: chunk.clone(),
        interval: Duration::ZERO,
    };
    assert_error(script, ModelError::TooLarge, 1).await;
    // Also that of an error, which is not needed at all.
    let script = |_, _| Reply::Repeated {
        start: b"HTTP/1.1 500 X\r\ncontent-length: 99999999999\r\n\r\n".to_vec(),
        piece: vec![b'x'; 0x1000],
        interval: Duration::ZERO,
    };
    assert_error(script, ModelError::TooLarge, 1).await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = ModelServer::start(|_, _| Reply::ok(envelope(ModelProtocol::OpenAi, "{}"))).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("location: http://{}/v1/chat/completions", target.address);
        let script = move |_, _| Reply::Json { status, header: Some(location.clone()), body: json!({}) };
        assert_error(script, ModelError::Redirect, 1).await;
    }
    assert_eq!(target.count(), 0);
}

#[tokio::test]
async fn addresses_that_are_not_allowed_get_nothing() {
    let server = ModelServer::start(|_, _| good(ModelProtocol::OpenAi)).await;
    let port = server.address.port();
    for url in [
        server.url(),
        format!("https://127.0.0.1:{port}/v1"),
        format!("https://localhost:{port}/v1"),
        format!("https://[::ffff:7f00:1]:{port}/v1"),
        "https://169.254.169.254/v1".to_owned(),
        "https://10.0.0.1/v1".to_owned(),
    ] {
        let endpoint = Endpoint::new(ModelProtocol::OpenAi, &url, "m").unwrap();
        let model = HttpModel::new(transport(""), endpoint);
        let prompt = Prompt::new(&context()).unwrap();
        let failure = model.explain(&prompt, Some(&key()), &limits()).await.unwrap_err();
        assert_eq!((failure.error, failure.usage.total()), (ModelError::ForbiddenAddress, 0), "{url}");
    }
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn a_key_can_t_add_headers() {
    for kind in KINDS {
        let server = ModelServer::start(move |_, _| good(kind)).await;
        let endpoint = Endpoint::new(kind, &server.url(), "m").unwrap();
        let model = HttpModel::new(transport("127.0.0.0/8"), endpoint);
        let key = Secret::new(b"key\r\nx-other: 1".to_vec()).unwrap();
        let prompt = Prompt::new(&context()).unwrap();
        let failure = model.explain(&prompt, Some(&key), &limits()).await.unwrap_err();
        assert_eq!((failure.error, server.count()), (ModelError::InvalidKey, 0));
    }
}
