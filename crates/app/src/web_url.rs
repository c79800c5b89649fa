//! The addresses of records in the dashboard. Pipelines are named by their ids: a slug can move to another
//! pipeline, and a link that was shared must not. Names need no escaping, because they are slugs.

use greenroom_domain::id::{DeploymentId, PipelineId, SessionId};

use crate::public_url::PublicUrl;

/// Makes the addresses of one organization's records. Without a public URL there are none.
#[derive(Clone, Copy, Debug)]
pub struct WebUrls<'a> {
    pub public_url: Option<&'a PublicUrl>,
    /// The organization's slug.
    pub organization: &'a str,
}

impl WebUrls<'_> {
    pub fn pipeline(self, id: PipelineId) -> Option<String> {
        self.page(format_args!("pipelines/{id}"))
    }

    pub fn environment(self, pipeline: PipelineId, name: &str) -> Option<String> {
        self.page(format_args!("pipelines/{pipeline}/environments/{name}"))
    }

    pub fn session(self, pipeline: PipelineId, environment: &str, id: SessionId) -> Option<String> {
        self.page(format_args!("pipelines/{pipeline}/environments/{environment}/sessions/{id}"))
    }

    pub fn deployment(self, id: DeploymentId) -> Option<String> {
        self.page(format_args!("deployments/{id}"))
    }

    /// Returns the address of a deployment without its id.
    pub fn deployments(self) -> Option<String> {
        self.page(format_args!("deployments/"))
    }

    fn page(self, path: std::fmt::Arguments<'_>) -> Option<String> {
        Some(self.public_url?.join(&format!("/o/{}/{path}", self.organization)))
    }
}
