//! Secrets of known forms, wherever an attacker or an accident can put them: none is in a prompt.

use greenroom_analysis::model::{FailureContext, Prompt};
use greenroom_domain::model::ModelProtocol;

use crate::fixture::{context, envelope, explain, explanation, limits};
use crate::server::{ModelServer, Reply};

/// Prefixes of tokens with the length of what follows. `bench analysis` has the same.
const TOKENS: &str = include_str!("tokens.txt");
const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A generator with a fixed seed.
struct Random(u64);

impl Random {
    fn text(&mut self, length: usize, alphabet: &str) -> String {
        let alphabet = alphabet.as_bytes();
        let mut next = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(alphabet[(self.0 >> 33) as usize % alphabet.len()])
        };
        (0..length).map(|_| next()).collect()
    }
}

/// The text as it is printed, and the part of it that must not leave.
struct Canary {
    printed: String,
    secret: String,
}

fn canaries() -> Vec<Canary> {
    let mut random = Random(42);
    let mut canaries = Vec::new();
    let mut add = |printed: String, secret: String| canaries.push(Canary { printed, secret });
    for line in TOKENS.lines() {
        let (prefix, length) = line.split_once(' ').unwrap();
        let length = length.parse().unwrap();
        let body = random.text(length, BASE62);
        add(format!("{prefix}{body}"), body);
    }
    for prefix in ["AKIA", "ASIA"] {
        let body = random.text(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
        add(format!("{prefix}{body}"), body);
    }
    for name in ["AWS_SECRET_ACCESS_KEY=", "secret_key: ", "AccountKey="] {
        let body = random.text(40, &format!("{BASE62}+/"));
        add(format!("{name}{body}"), body);
    }
    let jwt = random.text(120, BASE62);
    add(format!("eyJhbGciOiJSUzI1NiJ9.eyJ{jwt}.{}", random.text(86, BASE62)), jwt);
    for label in ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"] {
        let body = random.text(64, &format!("{BASE62}+/"));
        add(format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----"), body);
    }
    for scheme in ["postgres", "https", "amqp"] {
        let body = random.text(12, BASE62);
        add(format!("{scheme}://user:{body}@host.example/x"), body);
    }
    let body = random.text(30, BASE62);
    add(format!("Authorization: Bearer {body}"), body);
    let body = random.text(14, "abcdefghijklmnopqrstuvwxyz");
    add(format!("DB_PASSWORD={body}"), body);
    canaries
}

/// Puts a text wherever texts of others are.
fn everywhere(text: &str) -> FailureContext {
    let mut context = context();
    context.evidence[0].text = format!("ERROR with {text}\nmore");
    context.evidence[1].text = format!("x {text}");
    context.changes[0].title = format!("use {text}");
    context.changes[0].files = vec![format!("config {text}")];
    context.definition = format!("env:\n  VALUE: \"{text}\"");
    context.step = text.to_owned();
    context.reason = text.to_owned();
    context.verdict_because = vec![text.to_owned()];
    context
}

#[test]
fn no_canary_is_in_a_prompt() {
    let canaries = canaries();
    assert!(canaries.len() >= 50, "{}", canaries.len());
    let mut leaked = Vec::new();
    for Canary { printed, secret } in &canaries {
        let middle = printed.len() / 2;
        for disguised in [
            printed.clone(),
            format!("\u{1b}[31m{printed}\u{1b}[0m"),
            format!("{}\u{200b}{}", &printed[..middle], &printed[middle..]),
            format!("{}\u{1b}[1m{}", &printed[..middle], &printed[middle..]),
        ] {
            let prompt = Prompt::new(&everywhere(&disguised)).unwrap();
            // Half of a secret is too much as well.
            if prompt.text().contains(&secret[secret.len() / 2..])
                || prompt.text().contains(&secret[..secret.len() / 2])
            {
                leaked.push(disguised);
            }
            assert!(prompt.counts().masked > 0, "{printed}");
        }
    }
    println!("canaries {}, leaked {}", canaries.len(), leaked.len());
    assert!(leaked.is_empty(), "{leaked:#?}");
}

#[tokio::test]
async fn no_canary_is_on_the_wire() {
    let server =
        ModelServer::start(|_, _| Reply::ok(envelope(ModelProtocol::OpenAi, &explanation().to_string())))
            .await;
    for Canary { printed, secret } in canaries() {
        explain(&server, ModelProtocol::OpenAi, &everywhere(&printed), &limits()).await.unwrap();
        let received = server.received().pop().unwrap();
        assert!(!received.raw_body.contains(&secret), "{printed}");
        assert!(received.data().contains("[masked]"));
    }
}

#[test]
fn a_canary_at_the_end_of_a_long_line_is_not_halved() {
    // Wherever a long text is cut, no part of a token is left.
    for Canary { printed, secret } in canaries().into_iter().filter(|canary| !canary.printed.contains('\n')) {
        let tail = &secret[secret.len() - 8..];
        for padding in [2_030, 4_090, 8_170, 8_186] {
            let text = format!("{} {printed} {}", "a ".repeat(padding / 2), "b ".repeat(20_000));
            let mut context = context();
            context.evidence[0].text = text;
            assert!(!Prompt::new(&context).unwrap().text().contains(tail), "{printed} after {padding}");
        }
    }
}
