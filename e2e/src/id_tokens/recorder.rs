//! Receives what the step has seen: its tokens, when it read them, and the responses of the relying
//! parties. Also publishes the key that is not Greenroom's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::id_tokens::token::Token;
use crate::parts::output::print_progress;

/// The status of an exchange that was accepted.
pub(super) const ACCEPTED: &str = "200";
pub(super) const KEY_SET_PATH: &str = "/jwks.json";

/// One exchange of a token for credentials.
#[derive(Clone)]
pub(super) struct Exchange {
    /// When the files had been read, in seconds since 1970.
    pub(super) at: i64,
    /// The status of the response, or what the step has seen instead.
    pub(super) status: String,
    /// The tokens in the step's files, the exchanged one first. `None` for what is no token.
    pub(super) tokens: [Option<Token>; 2],
}

#[derive(Clone, Default)]
pub(super) struct Recorded {
    pub(super) exchanges: Vec<Exchange>,
    /// The statuses of single requests, by their name.
    pub(super) checks: BTreeMap<String, String>,
}

type Shared = Arc<Mutex<Recorded>>;

pub(super) struct Recorder {
    pub(super) url: String,
    recorded: Shared,
    _serving: JoinSet<()>,
}

#[derive(Deserialize)]
struct ExchangeParameters {
    at: i64,
    status: String,
}

#[derive(Deserialize)]
struct CheckParameters {
    name: String,
    status: String,
}

impl Recorder {
    pub(super) async fn start(key_set: Value) -> anyhow::Result<Self> {
        let recorded = Shared::default();
        let app = Router::new()
            .route("/exchange", post(record_exchange))
            .route("/check", post(record_check))
            .route(KEY_SET_PATH, get(move || std::future::ready(Json(key_set.clone()))))
            .with_state(Arc::clone(&recorded));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                print_progress(&format!("the recorder has ended: {error}"));
            }
        });
        Ok(Self { url, recorded, _serving: serving })
    }

    pub(super) fn recorded(&self) -> Recorded {
        lock(&self.recorded).clone()
    }
}

fn lock(recorded: &Shared) -> std::sync::MutexGuard<'_, Recorded> {
    recorded.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn record_exchange(
    State(recorded): State<Shared>,
    Query(parameters): Query<ExchangeParameters>,
    body: String,
) -> StatusCode {
    let (token, other) = body.split_once(' ').unwrap_or((&body, ""));
    let tokens = [token, other].map(|text| Token::parse(text.trim()).ok());
    let ExchangeParameters { at, status } = parameters;
    lock(&recorded).exchanges.push(Exchange { at, status, tokens });
    StatusCode::OK
}

async fn record_check(
    State(recorded): State<Shared>,
    Query(CheckParameters { name, status }): Query<CheckParameters>,
) -> StatusCode {
    lock(&recorded).checks.insert(name, status);
    StatusCode::OK
}
