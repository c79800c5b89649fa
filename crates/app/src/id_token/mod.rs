//! Id tokens: the signing keys, the documents by which relying parties find them, and the tokens of steps.

pub mod settings;
pub mod signing_keys;

use std::collections::BTreeMap;
use std::sync::Arc;

use greenroom_api_types::runner::{RefreshedIdTokens, StepIdToken};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::StepRunId;
use greenroom_domain::id_token::Validity;
use greenroom_keys::{KeyError, KeyRing};
use greenroom_store::job::{IdTokenOutcome, JobCredentials, RequestedIdTokens};
use serde_json::{Value, json};

pub use self::settings::IdTokenSettings;
use self::signing_keys::unavailable;
pub use self::signing_keys::{LoadedKeys, NotLoaded, SigningKeyCache, load};
use crate::App;
use crate::failure::{Code, Failure};
use crate::job::refusal::{fence_outdated, gone};

/// The path of the published keys, below the issuer.
pub const KEYS_PATH: &str = "/oidc/jwks.json";
/// The path of the issuer's configuration (OpenID Connect Discovery).
pub const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";

/// Returns the issuer of this server's tokens.
pub fn issuer(app: &App) -> &str {
    app.id_tokens.issuer.as_deref().unwrap_or_else(|| app.sign_in.public_url.origin())
}

/// Returns the configuration that relying parties read.
pub fn configuration(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "jwks_uri": format!("{issuer}{KEYS_PATH}"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": ["openid"],
        "claims_supported": [
            "iss", "sub", "aud", "iat", "nbf", "exp", "organization_id", "organization", "pipeline_id", "pipeline",
            "environment", "deployment_id", "stage", "attempt", "session_id", "commit", "runner_pool", "actor",
            "actor_kind", "branch",
        ],
    })
}

/// Returns the public keys with which relying parties verify tokens.
#[boxed_futures]
pub async fn published_keys(app: &App) -> Result<Value, Failure> {
    let ring = master_keys(app)?;
    let keys = app.signing_keys.get(&app.store, &ring, &app.detached_tasks).await?;
    Ok(keys.jwks())
}

/// Signs the tokens of a step.
#[boxed_futures]
pub async fn sign(app: &App, requested: &RequestedIdTokens) -> Result<Vec<StepIdToken>, Failure> {
    let ring = master_keys(app)?;
    let keys = app.signing_keys.get(&app.store, &ring, &app.detached_tasks).await?;
    let key = keys.signing_at(requested.requested_at).ok_or_else(|| unavailable(KeyError::NotOpened))?;
    let validity = Validity { issued_at: requested.requested_at, lifetime: app.id_tokens.lifetime };
    let sign = |(variable, audience): (&String, &String)| {
        let claims = requested.identity.claims(issuer(app), audience, validity);
        let token = key.sign(&claims)?.to_string();
        Ok(StepIdToken { variable: variable.clone(), token, expires_at: claims.expires_at() })
    };
    let audiences: &BTreeMap<String, String> = &requested.audiences;
    audiences.iter().map(sign).collect::<Result<_, KeyError>>().map_err(unavailable)
}

/// Returns new tokens for a step that runs, with the same checks as at its start.
#[boxed_futures]
pub async fn refresh(
    app: &App,
    credentials: JobCredentials<'_>,
    step: StepRunId,
) -> Result<RefreshedIdTokens, Failure> {
    let requested = match app.store.refresh_id_tokens(credentials, step).await? {
        IdTokenOutcome::Granted(requested) => requested,
        IdTokenOutcome::Gone => return Err(gone()),
        IdTokenOutcome::FenceOutdated => return Err(fence_outdated()),
    };
    let id_tokens = match requested {
        Some(requested) => sign(app, &requested).await?,
        None => Vec::new(),
    };
    Ok(RefreshedIdTokens { id_tokens })
}

/// Returns the master keys, which open the signing keys.
pub fn master_keys(app: &App) -> Result<Arc<KeyRing>, Failure> {
    app.keys.ring().ok_or_else(|| {
        Failure::new(
            Code::SecretsUnavailable,
            "This server has no master key, so it can't sign id tokens. Its operator gives it one by \
             `--secrets-key-file` or `--secrets-key-command`.",
        )
    })
}
