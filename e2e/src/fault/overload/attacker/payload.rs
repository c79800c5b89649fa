//! The payload of each attack.

use std::net::SocketAddr;

use greenroom_domain::token::{SecretKind, TokenSecret};
use reqwest::RequestBuilder;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use serde_json::json;

use crate::fault::overload::attack::Attack;
use crate::fault::overload::sample::{Hostile, Member, Plan};

const JSON: &str = "application/json";
const DEPTH: usize = 10_000;
/// The maximum size of a condition, in bytes.
const MAX_CONDITION: usize = 1_000;

pub(crate) struct Payloads {
    pub(crate) address: SocketAddr,
    hostile: Hostile,
    member: Member,
    nested_conditions: [String; 2],
    deep_json: String,
    yaml_bomb: String,
    gzip_bomb: Vec<u8>,
}

impl Payloads {
    pub(crate) fn new(plan: &Plan) -> anyhow::Result<Self> {
        let body = |definition: String| json!({ "definition": definition }).to_string();
        Ok(Self {
            address: plan.address.parse()?,
            hostile: plan.hostile.clone(),
            member: plan.member.clone(),
            nested_conditions: [body(nested_loops()), body(many_conditions())],
            deep_json: format!("{{\"definition\": {}{}}}", "[".repeat(DEPTH), "]".repeat(DEPTH)),
            yaml_bomb: body(yaml_bomb()),
            gzip_bomb: std::fs::read(&plan.gzip_bomb)?,
        })
    }

    /// Returns the first bytes of a connection that is held open.
    pub(crate) fn held(&self, attack: Attack, number: usize) -> Vec<u8> {
        let Hostile { organization, deployment, job, step, log_bytes, .. } = &self.hostile;
        let step_path = format!("/organizations/{organization}/deployments/{deployment}/steps/{step}");
        let viewer = self.viewer(number);
        let text = match attack {
            Attack::Polls => {
                let token = turn_of(&self.hostile.pollers, number);
                self.head("POST", "/runner/jobs/acquire", token, "content-length: 19\r\n")
                    + "{\"waitSeconds\": 30}"
            }
            Attack::LogStreams => {
                self.head("GET", &format!("{step_path}/logs/stream?afterSeq={log_bytes}"), viewer, "")
            }
            Attack::UnreadDownloads => self.head("GET", &format!("{step_path}/logs"), viewer, ""),
            Attack::SlowUploads => {
                let path = format!(
                    "/runner/jobs/{job}/steps/{step}/logs?offset={log_bytes}&at=2026-01-01T00:00:00Z"
                );
                let forged = forged(SecretKind::Job);
                let headers = format!("x-greenroom-job-token: {forged}\r\ncontent-length: 1048576\r\n");
                self.head("POST", &path, &self.hostile.runner, &headers)
            }
            Attack::MemberBodies => {
                let path = format!("/organizations/{}/pipelines/validate", self.member.organization);
                self.head("POST", &path, turn_of(&self.member.tokens, number), "content-length: 100\r\n")
            }
            Attack::MemberStreams => {
                let path = format!("/organizations/{}/events/stream", self.member.organization);
                self.head("GET", &path, turn_of(&self.member.tokens, number), "")
            }
            // The other attacks do not hold connections open.
            _ => self.head("POST", &self.validate(), viewer, "content-length: 1000\r\n"),
        };
        text.into_bytes()
    }

    /// Returns a whole request of an attack at a fixed rate.
    pub(crate) fn paced(&self, http: &reqwest::Client, attack: Attack, turn: usize) -> RequestBuilder {
        let url = |path: &str| format!("http://{}/api/v1{path}", self.address);
        let validate =
            || http.post(url(&self.validate())).bearer_auth(self.viewer(turn)).header(CONTENT_TYPE, JSON);
        match attack {
            Attack::NestedConditions => {
                validate().body(self.nested_conditions[turn % self.nested_conditions.len()].clone())
            }
            Attack::DeepJson => validate().body(self.deep_json.clone()),
            Attack::YamlBombs => validate().body(self.yaml_bomb.clone()),
            Attack::GzipBombs => validate().header(CONTENT_ENCODING, "gzip").body(self.gzip_bomb.clone()),
            _ => http.get(url("/me")).bearer_auth(forged(SecretKind::Api)),
        }
    }

    fn head(&self, method: &str, path: &str, token: &str, headers: &str) -> String {
        let host = self.address;
        format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             content-type: {JSON}\r\n{headers}\r\n"
        )
    }

    fn validate(&self) -> String {
        format!("/organizations/{}/pipelines/validate", self.hostile.organization)
    }

    fn viewer(&self, number: usize) -> &str {
        turn_of(&self.hostile.viewers, number)
    }
}

/// Returns the token of a connection: each connection uses the next one.
fn turn_of(tokens: &[String], number: usize) -> &str {
    tokens.get(number % tokens.len().max(1)).map_or("", String::as_str)
}

/// Returns a token with the right form and checksum that does not exist.
fn forged(kind: SecretKind) -> String {
    let random = std::array::from_fn(|_| rand::random_range(0..62));
    TokenSecret::of(kind, random).reveal().to_owned()
}

/// Six loops inside each other, over a hundred variables: 10¹² iterations if evaluated.
fn nested_loops() -> String {
    let mut definition = String::from("variables:\n");
    for number in 0..100 {
        definition += &format!("  V{number}: x\n");
    }
    let condition = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .rev()
        .fold(String::from("true"), |inner, name| format!("variables.all({name}, {inner})"));
    definition + &format!("stages:\n  one:\n    if: {condition}\n    steps: [{{ image: none, run: x }}]\n")
}

/// The maximum number of stages, each with a condition of the maximum size.
fn many_conditions() -> String {
    let mut definition = String::from("stages:\n");
    let condition = vec!["branch == \"x\""; MAX_CONDITION / 16].join(" || ");
    for number in 0..100 {
        definition += &format!("  s{number}:\n    if: {condition}\n    steps: [{{ image: none, run: x }}]\n");
    }
    definition
}

/// Nine lists of nine references each to the one before.
fn yaml_bomb() -> String {
    let mut definition = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for number in 1..10 {
        let before = vec![format!("*a{}", number - 1); 9].join(", ");
        definition += &format!("a{number}: &a{number} [{before}]\n");
    }
    definition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forged_tokens_have_the_right_form() {
        assert!(TokenSecret::read(SecretKind::Job, &forged(SecretKind::Job)).is_ok());
        assert!(TokenSecret::read(SecretKind::Api, &forged(SecretKind::Api)).is_ok());
    }

    #[test]
    fn definitions_nest() {
        assert!(nested_loops().contains("variables.all(a, variables.all(b, "));
        assert!(yaml_bomb().contains("a9: &a9 [*a8, *a8"));
        assert!(many_conditions().lines().all(|line| line.len() < 1_100));
    }
}
