//! A real model, by command: `e2e/model/serve` prints its address, and
//! `GREENROOM_MODEL_URL=… cargo test -p greenroom-analysis --test model -- --ignored --nocapture`.
//! It is checked that the protocol holds. Its quality is printed and has no bar: a small model guesses.

use std::time::{Duration, Instant};

use greenroom_analysis::model::{HttpModel, Limits, Model, Prompt};
use greenroom_domain::model::{Endpoint, ModelProtocol};

use crate::fixture::{context, transport};

const CASES: &[(&str, &str)] = &[
    ("compile", "error[E0308]: mismatched types\n --> src/main.rs:3:5"),
    ("test", "FAILED tests/test_cart.py::test_total - assert 3 == 4"),
    ("dependency", "npm error 404 Not Found - GET https://registry.example/left-pad"),
    ("configuration", "Error: environment variable DATABASE_URL is not set"),
    ("network", "curl: (7) Failed to connect to api.example port 443: Connection refused"),
    ("database", "ERROR: schema version 41 expected, found 40"),
    ("resource", "write /data/x: no space left on device"),
    ("timeout", "timed out waiting for the condition on deployments/app"),
];

#[tokio::test]
#[ignore = "needs a model server: see above"]
async fn a_real_model_server_keeps_to_the_protocol() {
    let url = std::env::var("GREENROOM_MODEL_URL").unwrap();
    let endpoint = Endpoint::new(ModelProtocol::OpenAi, &url, "local").unwrap();
    let model = HttpModel::new(transport("127.0.0.0/8"), endpoint);
    let limits = Limits {
        max_output_tokens: 512,
        request_timeout: Duration::from_secs(120),
        deadline: Duration::from_secs(300),
        ..Limits::default()
    };
    let (mut valid, mut right, mut cited, mut tokens) = (0, 0, 0, 0);
    let started = Instant::now();
    for (category, text) in CASES {
        let mut context = context();
        context.evidence[1].text = (*text).to_owned();
        context.evidence[0].text = "Starting".to_owned();
        context.category = "unknown".to_owned();
        match model.explain(&Prompt::new(&context).unwrap(), None, &limits).await {
            Ok(completion) => {
                valid += 1;
                right += usize::from(completion.explanation.category.as_deref() == Some(category));
                cited += usize::from(completion.explanation.evidence.first().is_some_and(|id| id == "E2"));
                tokens += completion.usage.total();
                assert!(!completion.usage.is_estimated, "the server reports no usage");
            }
            Err(failure) => println!("{category}: {failure} after {} attempts", failure.attempts),
        }
    }
    println!(
        "requests {}, valid {valid}, category right {right}, decisive item first {cited}, tokens {tokens}, {:.1} s",
        CASES.len(),
        started.elapsed().as_secs_f32()
    );
    assert!(valid * 2 > CASES.len(), "{valid} of {} are valid", CASES.len());
}
