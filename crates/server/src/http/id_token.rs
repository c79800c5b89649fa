//! `/.well-known/openid-configuration` and `/oidc/jwks.json`: the documents by which relying parties verify id
//! tokens. They are public, as their standards require.

use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use greenroom_app::App;
use greenroom_app::id_token::{self, CONFIGURATION_PATH, KEYS_PATH};

use crate::http::rules::early_response::EarlyResponse;

/// Keys are published an hour before they sign, so a cached list is never too old.
const CACHED: (axum::http::HeaderName, &str) = (CACHE_CONTROL, "public, max-age=300");

pub fn routes() -> Router<App> {
    Router::new().route(CONFIGURATION_PATH, get(configuration)).route(KEYS_PATH, get(keys))
}

async fn configuration(State(app): State<App>) -> impl IntoResponse {
    ([CACHED], Json(id_token::configuration(id_token::issuer(&app))))
}

async fn keys(State(app): State<App>) -> Result<impl IntoResponse, EarlyResponse> {
    Ok(([CACHED], Json(id_token::published_keys(&app).await?)))
}
