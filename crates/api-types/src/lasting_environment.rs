//! Lasting environments, such as production: what is live there, and what keeps deployments from beginning.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::approval::GateOverride;
use crate::person::Person;

/// A lasting environment of a pipeline. One deployment at a time works there.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastingEnvironment {
    #[schema(example = "production")]
    pub name: String,
    pub kind: EnvironmentKind,
    pub pipeline_id: String,
    #[schema(example = "storefront")]
    pub pipeline_slug: String,
    /// From the pipeline's current definition.
    #[schema(example = "https://shop.example.com")]
    pub url: Option<String>,
    /// The branches whose commits may be deployed here, from the pipeline's current definition; empty: any branch
    /// of the repository.
    pub branches: Vec<String>,
    /// What is deployed here; null if no deployment has succeeded.
    pub live: Option<LiveDeployment>,
    /// The deployment that works here, or is about to; null if there is none.
    pub slot: Option<EnvironmentSlot>,
    /// Set while a user holds the environment: only that user's deployments begin here.
    pub hold: Option<EnvironmentHold>,
    /// Set while a freeze is active here: no stage begins. Of several, the one that ends last.
    pub freeze: Option<EnvironmentFreeze>,
    /// The number of deployments with a stage that waits to begin here.
    #[schema(minimum = 0)]
    pub waiting: i64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EnvironmentKind {
    Lasting,
}

/// The deployment that is live in an environment: the last one all of whose stages there succeeded.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveDeployment {
    pub deployment_id: String,
    pub commit_id: String,
    pub branch: Option<String>,
    /// Since when it is live.
    pub at: Timestamp,
    /// The user who started the deployment, or retried it last.
    pub by: Person,
    /// The deployment was allowed to replace what a newer one had deployed.
    pub rollback: bool,
}

/// The deployment that has an environment's work slot.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentSlot {
    pub deployment_id: String,
    pub commit_id: String,
    /// When its first step started here; null before that.
    pub since: Option<Timestamp>,
    /// The user who started the deployment, or retried it last.
    pub by: Person,
}

/// A hold of a lasting environment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentHold {
    pub by: Person,
    /// Shown to everyone whose deployment waits.
    #[schema(example = "Migrating the database by hand")]
    pub reason: String,
    pub since: Timestamp,
    pub until: Timestamp,
}

/// A freeze that is active in an environment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentFreeze {
    #[schema(example = "frz_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    #[schema(example = "Weekends")]
    pub name: String,
    #[schema(example = "Nobody is on call")]
    pub reason: String,
    /// When it ceases to hold.
    pub until: Timestamp,
}

/// A deployment that has begun to work in a lasting environment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentDeployment {
    /// Grows with each deployment that gets the environment's work slot. One that never began is not listed, so
    /// there may be gaps.
    #[schema(minimum = 1)]
    pub fence: i64,
    pub deployment_id: String,
    pub commit_id: String,
    pub branch: Option<String>,
    /// The user who started the deployment, or had retried it last when it began here.
    pub by: Person,
    /// The user who started the deployment. If `by` is another user, `by` has retried it or rolled back to it.
    #[serde(default)]
    pub created_by: Option<Person>,
    /// The overrides of its gates here, by admins, before it began.
    #[serde(default)]
    pub overrides: Vec<GateOverride>,
    /// When its first step started here.
    pub began_at: Timestamp,
    /// When its last stage here ended; null while it works here.
    pub ended_at: Option<Timestamp>,
    /// The outcome of its stages here; null while it works here.
    pub outcome: Option<EnvironmentOutcome>,
    /// What it deployed is live now.
    pub live: bool,
    /// The deployment was allowed to replace what a newer one had deployed.
    pub rollback: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EnvironmentOutcome {
    Succeeded,
    Failed,
    Errored,
    Canceled,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HoldEnvironment {
    /// Shown to everyone whose deployment waits.
    #[schema(min_length = 1, max_length = 500, example = "Migrating the database by hand")]
    pub reason: String,
    /// When the hold ends: at most 24 hours from now.
    pub until: Timestamp,
}

/// An environment whose hold has changed.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldEnvironment {
    pub pipeline_id: String,
    pub name: String,
    /// The hold; null if it was ended.
    pub hold: Option<EnvironmentHold>,
}
