//! The requests that a refusal suggests instead. They are complete, with the fields that the caller sent, so
//! that a program can send them unchanged.

use greenroom_domain::principal::Principal;
use greenroom_store::pipeline::PipelineName;
use serde_json::{Map, Value, json};

use crate::session::ClaimRequest;

/// The path of the API; all routes are nested below it.
pub const API_ROOT: &str = "/api/v1";

/// The URL path that the `path` of a suggested request is relative to.
pub struct Base(String);

impl Base {
    /// The environments of a pipeline.
    pub fn environments(principal: &Principal, pipeline: &PipelineName) -> Self {
        let organization = &principal.organization_slug;
        Self(format!("{API_ROOT}/organizations/{organization}/pipelines/{pipeline}/ephemeral-environments"))
    }

    /// One environment of a pipeline.
    pub fn environment(principal: &Principal, pipeline: &PipelineName, name: &str) -> Self {
        let Self(environments) = Self::environments(principal, pipeline);
        Self(format!("{environments}/{name}"))
    }

    pub fn action(&self, action: &str, method: &str, path: &str) -> Value {
        let Self(base) = self;
        json!({ "action": action, "method": method, "path": path, "href": format!("{base}/{path}") })
    }

    pub fn action_with(&self, action: &str, method: &str, path: &str, body: Map<String, Value>) -> Value {
        let mut suggested = self.action(action, method, path);
        suggested["body"] = body.into();
        suggested
    }

    /// Suggests to queue with the same request.
    pub fn queue(&self, path: &str, claim: &ClaimRequest) -> Value {
        let mut body = body(claim);
        body.insert("queue".to_owned(), true.into());
        self.action_with("queue", "POST", path, body)
    }
}

/// Returns the fields that the caller sent, without the claim mode.
pub fn body(claim: &ClaimRequest) -> Map<String, Value> {
    let mut body = commit(claim);
    body.extend(claim.context.as_ref().map(|context| ("context".to_owned(), context.as_str().into())));
    body.extend(claim.ttl_seconds.map(|seconds| ("ttlSeconds".to_owned(), seconds.into())));
    body
}

/// Returns the commit that the caller sent, and its branch.
pub fn commit(claim: &ClaimRequest) -> Map<String, Value> {
    let texts = [("commitId", &claim.commit_id), ("branch", &claim.branch)];
    let sent = texts.into_iter().filter_map(|(field, text)| Some((field, text.as_ref()?)));
    sent.map(|(field, text)| (field.to_owned(), text.as_str().into())).collect()
}
