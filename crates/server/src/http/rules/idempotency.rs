//! Reads the `Idempotency-Key` header and the operation that it is bound to.

use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, RawPathParams};
use axum::http::request::Parts;
use greenroom_app::App;
use greenroom_app::command::{Fingerprint, OperationKey};
use greenroom_app::failure::{Code, Failure};
use greenroom_domain::id::PipelineId;
use greenroom_domain::principal::Principal;
use greenroom_store::pipeline::PipelineName;
use sha2::{Digest, Sha256};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::openapi::header;
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::permit::with_capacity;

const MAX_KEY_LENGTH: usize = 255;
const PIPELINE: &str = "pipelineId";

/// One user's key for one operation on the same records, whether the request names them by id or by slug.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    method: String,
    /// The path, with ids instead of slugs, and the query as it was sent.
    path: String,
    /// A second path to store the response under.
    alias_path: Option<String>,
    key: Option<String>,
}

impl IdempotencyKey {
    /// Returns the key of this operation with this body, if the client sent one.
    pub fn for_body(self, body: &[u8]) -> Option<OperationKey> {
        let hash = || Fingerprint { hash: Sha256::digest(body).to_vec(), former_hashes: Vec::new() };
        self.key.is_some().then(hash).and_then(|fingerprint| self.for_fingerprint(fingerprint))
    }

    /// Returns the key of this operation with a body that has this fingerprint, if the client sent one. A body
    /// with the value of a secret has a keyed fingerprint, because a short value could be guessed from a plain
    /// hash.
    pub fn for_fingerprint(self, fingerprint: Fingerprint) -> Option<OperationKey> {
        let Self { method, path, alias_path, key } = self;
        Some(OperationKey { method, path, alias_path, key: key?, fingerprint })
    }
}

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        // Its length is no part of the schema: HTTP removes blanks around a value before the server sees it.
        let text = "A key that makes it safe to repeat the request: 1 to 255 visible ASCII characters. For 24 hours, \
                    the same request with the same key takes effect once: it returns the first response, with \
                    `Idempotency-Replayed: true`. A session or its deployment is returned as it is then.";
        vec![header("Idempotency-Key", text)]
    }
}

impl FromRequestParts<App> for IdempotencyKey {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, EarlyResponse> {
        let method = parts.method.to_string();
        let Some(value) = parts.headers.get("idempotency-key") else {
            return Ok(Self { method, path: String::new(), alias_path: None, key: None });
        };
        let key =
            value.to_str().ok().filter(|text| (1..=MAX_KEY_LENGTH).contains(&text.len())).map(str::to_owned);
        let key = key.ok_or_else(|| {
            Failure::new(Code::InvalidHeader, "`Idempotency-Key` must be 1 to 255 visible ASCII characters.")
        })?;
        let route = Route::from_parts(parts, app).await?;
        let query = parts.uri.query().filter(|query| !query.is_empty());
        let with_query = |path: String| query.map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
        let as_sent = with_query(route.path(None));
        let resolved = match route.pipeline() {
            None => None,
            Some(name) => pipeline_id(parts, app, name).await?.map(|id| with_query(route.path(Some(id)))),
        };
        Ok(match resolved {
            // An edit or an archival can free the slug. The response is also stored under the path as it was
            // sent, so that it is found when the client repeats the request with the old slug.
            Some(path) if route.changes_pipeline(&method) && path != as_sent => {
                Self { method, path, alias_path: Some(as_sent), key: Some(key) }
            }
            Some(path) => Self { method, path, alias_path: None, key: Some(key) },
            None => Self { method, path: as_sent, alias_path: None, key: Some(key) },
        })
    }
}

/// The operation's path template and its decoded variables.
struct Route {
    template: String,
    variables: Vec<(String, String)>,
}

impl Route {
    async fn from_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let template = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
        let variables = RawPathParams::from_request_parts(parts, app).await;
        let variables = variables.map_err(|_| Failure::not_found())?;
        let variables = variables.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Self { template, variables: variables.collect() })
    }

    fn pipeline(&self) -> Option<PipelineName> {
        let (_, text) = self.variables.iter().find(|(name, _)| name == PIPELINE)?;
        PipelineName::parse(text)
    }

    fn changes_pipeline(&self, method: &str) -> bool {
        self.template.ends_with("/pipelines/{pipelineId}") && matches!(method, "PUT" | "DELETE")
    }

    /// Returns the path with its variables filled in, except the organization: keys are stored per
    /// organization.
    fn path(&self, pipeline: Option<PipelineId>) -> String {
        let mut path = self.template.clone();
        for (name, value) in self.variables.iter().filter(|(name, _)| name != OrganizationPath::VARIABLE) {
            let place = format!("{{{name}}}");
            path = match pipeline.filter(|_| name == PIPELINE) {
                Some(id) => path.replace(&place, &id.to_string()),
                None => path.replace(&place, value),
            };
        }
        path
    }
}

async fn pipeline_id(parts: &Parts, app: &App, name: PipelineName) -> Result<Option<PipelineId>, Failure> {
    match (name, parts.extensions.get::<Arc<Principal>>()) {
        (PipelineName::Id(id), _) => Ok(Some(id)),
        (name @ PipelineName::Slug(_), Some(principal)) => {
            let store = with_capacity(parts, app).store;
            let found = store.pipeline(principal.organization_id, &name).await?;
            Ok(found.map(|pipeline| pipeline.id))
        }
        (PipelineName::Slug(_), None) => Ok(None),
    }
}
