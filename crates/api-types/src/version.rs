//! What a server is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The version of a server, and what a client may expect of it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    #[schema(example = "0.1.0")]
    pub version: String,
    /// The commit that the server was built from; null if the build did not set it.
    #[schema(example = "9f3c2a1b7d4e8f60512a3b4c5d6e7f8091a2b3c4")]
    pub commit: Option<String>,
    /// The names of what not every server has, sorted. Later versions add names. `lease_remaining`: sessions have
    /// `leaseRemainingMs`; `organization_lists`: environments and sessions of all pipelines are listed;
    /// `repository_lookup`: pipelines are found by their repository; `runner_status`: runners have a `status`;
    /// `summary`: what is live is counted; `web_urls`: records have a `webUrl`.
    #[schema(example = json!(["lease_remaining", "organization_lists"]))]
    pub features: Vec<String>,
}
