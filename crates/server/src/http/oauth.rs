//! `/oauth/token` and its metadata: forms and responses of OAuth (RFC 6749, RFC 8693, RFC 8414). Neither tokens nor
//! cookies of a request count: what a client sends in the form authenticates it.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use greenroom_app::App;
use greenroom_app::token_exchange::{self, ExchangeFailure, ExchangedToken};
use serde_json::{Value, json};

use crate::http::rules::body;
use crate::http::rules::class::{METADATA_PATH, TOKEN_PATH};
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::request_id::RequestId;
use crate::http::rules::sign_in_request::ClientIp;

const FORM: &str = "application/x-www-form-urlencoded";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// Two tokens, of which one has 16 KiB at most, in the encoding of a form.
const MAX_BYTES: usize = 24 << 10;
const REFUSED: &str =
    "The token was not accepted for this service account. Its admins find the reason in the audit events.";

pub fn routes() -> Router<App> {
    Router::new().route(TOKEN_PATH, post(exchange_token)).route(METADATA_PATH, get(metadata))
}

async fn exchange_token(
    State(app): State<App>,
    ClientIp(address): ClientIp,
    id: RequestId,
    request: Request,
) -> Result<Response, EarlyResponse> {
    app.limits.exchange(address)?;
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|text| text.split(';').next()).unwrap_or_default();
    if !essence.trim().eq_ignore_ascii_case(FORM) {
        return Ok(error("invalid_request", &format!("The body must be of type `{FORM}`")));
    }
    let bytes = body::read(request, MAX_BYTES).await?;
    let form: Vec<(String, String)> = form_urlencoded::parse(&bytes).into_owned().collect();
    match token_exchange::exchange(&app, &form, &id.0).await {
        Ok(exchanged) => Ok(Json(success(&exchanged)).into_response()),
        Err(ExchangeFailure::Invalid(invalid)) => Ok(error(invalid.code(), &invalid.to_string())),
        Err(ExchangeFailure::Refused) => Ok(error("invalid_grant", REFUSED)),
        Err(ExchangeFailure::Failed(failure)) => Err(failure.into()),
    }
}

fn success(exchanged: &ExchangedToken) -> Value {
    json!({
        "access_token": exchanged.secret.reveal(),
        "issued_token_type": ACCESS_TOKEN,
        "token_type": "Bearer",
        "expires_in": exchanged.lifetime_seconds,
        "scope": exchanged.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" "),
    })
}

fn error(code: &str, description: &str) -> Response {
    let body = json!({ "error": code, "error_description": description });
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

async fn metadata(State(app): State<App>) -> Json<Value> {
    let url = &app.sign_in.public_url;
    Json(json!({
        "issuer": url.origin(),
        "token_endpoint": url.join(TOKEN_PATH),
        "grant_types_supported": [TOKEN_EXCHANGE],
        "token_endpoint_auth_methods_supported": ["none"],
        "response_types_supported": [],
    }))
}
