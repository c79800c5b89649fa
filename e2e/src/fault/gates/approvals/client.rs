//! Sends the requests of one person or program, and retries until their outcome is known.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use reqwest::Method;
use serde_json::{Value, json};

use super::board::{Board, OpenApproval};
use super::fixture::ApprovalFixture;
use super::history::{Act, ApprovalHistory, Response};
use crate::fault::deployments::client::http::{ApiRequest, Http, Outcome};
use crate::fault::deployments::organization::Organization;

/// Error codes of a server that has too much to do: nothing was changed, and the request can be sent again.
const RETRIED_CODES: [&str; 3] = ["busy", "overloaded", "rate_limited"];
const MAX_TRIES: u32 = 100;

/// State that all clients share.
pub(crate) struct ApprovalShared {
    pub(crate) fixture: ApprovalFixture,
    pub(crate) http: Http,
    pub(crate) board: Board,
    pub(crate) history: Mutex<ApprovalHistory>,
}

impl ApprovalShared {
    pub(crate) fn history(&self) -> MutexGuard<'_, ApprovalHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Client {
    pub(crate) shared: Arc<ApprovalShared>,
    pub(crate) rng: StdRng,
    name: String,
    keys: u32,
}

impl Client {
    pub(crate) fn new(name: String, shared: &Arc<ApprovalShared>, rng: StdRng) -> Self {
        Self { shared: Arc::clone(shared), rng, name, keys: 0 }
    }

    /// Sends a request. One that changes something gets an idempotency key, so that it can be sent again.
    pub(crate) async fn send(&mut self, token: &str, mut api_request: ApiRequest) -> Outcome {
        if api_request.method != Method::GET {
            self.keys += 1;
            api_request.key = Some(format!("{}-{}", self.name, self.keys));
        }
        for _ in 0..MAX_TRIES {
            let outcome = self.shared.http.send_until_known(&mut self.rng, token, &api_request).await;
            match outcome {
                Outcome::Refused(code) if RETRIED_CODES.contains(&code.as_str()) => {}
                outcome => return outcome,
            }
            self.pause(50, 500).await;
        }
        Outcome::Unknown
    }

    /// Sends a vote, or withdraws it.
    pub(crate) async fn vote(
        &mut self,
        token: &str,
        approval: &OpenApproval,
        act: Act,
        digest: &str,
    ) -> Response {
        let path = |end: &str| Organization::path(&format!("/approvals/apr_{}/{end}", approval.id));
        let api_request = match act {
            Act::Approve => ApiRequest::post(path("approve"), Some(json!({ "subjectDigest": digest }))),
            Act::Reject => {
                let body = json!({ "subjectDigest": digest, "comment": "a campaign" });
                ApiRequest::post(path("reject"), Some(body))
            }
            Act::Withdraw => ApiRequest { method: Method::DELETE, ..ApiRequest::get(path("vote")) },
        };
        self.shared.board.sent();
        let response = match self.send(token, api_request).await {
            Outcome::Done(_) => Response::Stored,
            Outcome::Refused(code) => Response::Refused(code),
            Outcome::Unknown => Response::Unknown,
        };
        self.shared.board.received(response == Response::Stored);
        response
    }

    pub(crate) async fn read(&mut self, token: &str, path: &str) -> Option<Value> {
        match self.send(token, ApiRequest::get(Organization::path(path))).await {
            Outcome::Done(record) => Some(record),
            Outcome::Refused(_) | Outcome::Unknown => None,
        }
    }

    pub(crate) async fn pause(&mut self, min: u64, max: u64) {
        let pause = Duration::from_millis(self.rng.random_range(min..max));
        tokio::time::sleep(pause).await;
    }
}
