//! Pipelines and the versions of their definitions.

use greenroom_domain::pipeline as domain;
use greenroom_domain::repository::masked;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::deployment_status::{DeploymentPurpose, DeploymentStatus};
use crate::session_ending::EndedSession;
use crate::step_registry::ResolvedStep;

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PipelineStatus {
    Active,
    Stopped,
    Archived,
}

impl From<domain::PipelineStatus> for PipelineStatus {
    fn from(status: domain::PipelineStatus) -> Self {
        match status {
            domain::PipelineStatus::Active => Self::Active,
            domain::PipelineStatus::Stopped => Self::Stopped,
            domain::PipelineStatus::Archived => Self::Archived,
        }
    }
}

impl From<PipelineStatus> for domain::PipelineStatus {
    fn from(status: PipelineStatus) -> Self {
        match status {
            PipelineStatus::Active => Self::Active,
            PipelineStatus::Stopped => Self::Stopped,
            PipelineStatus::Archived => Self::Archived,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StopMode {
    /// Running deployments continue until they end.
    Drain,
    /// Running deployments pause before their next stage.
    Pause,
    /// Running deployments are canceled.
    Cancel,
}

impl From<domain::StopMode> for StopMode {
    fn from(mode: domain::StopMode) -> Self {
        match mode {
            domain::StopMode::Drain => Self::Drain,
            domain::StopMode::Pause => Self::Pause,
            domain::StopMode::Cancel => Self::Cancel,
        }
    }
}

impl From<StopMode> for domain::StopMode {
    fn from(mode: StopMode) -> Self {
        match mode {
            StopMode::Drain => Self::Drain,
            StopMode::Pause => Self::Pause,
            StopMode::Cancel => Self::Cancel,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineStop {
    pub mode: StopMode,
    pub reason: Option<String>,
    pub at: Timestamp,
    /// The id of the user who stopped the pipeline.
    pub by: String,
    /// The name of that user; null for one who was never a member of the organization.
    #[serde(default)]
    pub by_name: Option<String>,
}

/// A pipeline that was archived.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArchivedPipeline {
    #[serde(flatten)]
    pub pipeline: Pipeline,
    /// The sessions that ended because the pipeline was archived. The list has at most 500; any others end
    /// shortly after the response.
    pub ended: Vec<EndedSession>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pipeline {
    #[schema(example = "pip_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    #[schema(example = "Storefront")]
    pub name: String,
    #[schema(example = "storefront")]
    pub slug: String,
    pub status: PipelineStatus,
    /// How, when and by whom the pipeline was stopped; null if it is not stopped.
    pub stop: Option<PipelineStop>,
    pub repository: Option<String>,
    #[schema(minimum = 1)]
    pub definition_version: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The pipeline's newest deployment that is not a teardown; null before the first deployment.
    pub last_deployment: Option<LastDeployment>,
    /// The number of ephemeral environments in the pipeline's list.
    #[serde(default)]
    pub environments: EnvironmentCounts,
    /// The pipeline's newest deployments that are not teardowns, newest first, at most 20.
    #[serde(default)]
    pub recent_deployments: Vec<LastDeployment>,
    /// The pipeline's page in the dashboard; null if the server's public URL is not set.
    #[serde(default)]
    pub web_url: Option<String>,
}

/// How many environments there are, and how many of them no session holds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentCounts {
    #[schema(minimum = 0)]
    pub total: i64,
    #[schema(minimum = 0)]
    pub free: i64,
}

/// A summary of a deployment, as part of a pipeline.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastDeployment {
    pub id: String,
    /// `pipeline` or `session`: teardowns are not included.
    pub purpose: DeploymentPurpose,
    pub commit_id: String,
    pub status: DeploymentStatus,
    /// The lasting environments that the deployment did not reach although it succeeded, because the branch was not known.
    #[serde(default)]
    pub skipped_environments: Vec<String>,
    pub created_at: Timestamp,
}

impl From<domain::Pipeline> for Pipeline {
    fn from(pipeline: domain::Pipeline) -> Self {
        Self {
            id: pipeline.id.to_string(),
            name: pipeline.name,
            slug: pipeline.slug,
            status: pipeline.status.into(),
            stop: pipeline.stop.map(|stop| PipelineStop {
                mode: stop.mode.into(),
                reason: stop.reason,
                at: stop.at,
                by: stop.by.to_string(),
                by_name: None,
            }),
            repository: pipeline.repository.map(|address| masked(&address).into_owned()),
            definition_version: pipeline.definition_version,
            created_at: pipeline.created_at,
            updated_at: pipeline.updated_at,
            last_deployment: None,
            environments: EnvironmentCounts::default(),
            recent_deployments: Vec::new(),
            web_url: None,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineVersion {
    #[schema(minimum = 1)]
    pub version: i32,
    /// The SHA-256 of the definition and of the steps of registries that it has locked.
    pub digest: String,
    pub created_at: Timestamp,
    pub created_by: PipelineAuthor,
    /// The definition, unchanged as it was sent. Left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// What its references to steps of registries meant when it was saved. Left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<ResolvedStep>>,
}

/// A pipeline whose steps of registries were updated.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdatedSteps {
    #[serde(flatten)]
    pub pipeline: Pipeline,
    /// The references that mean another version now; empty if nothing has changed.
    pub step_changes: Vec<StepLockChange>,
}

/// What a reference to a step of a registry meant, and what it means.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepLockChange {
    #[schema(example = "acme/roll-out@v2")]
    pub uses: String,
    /// Null if the reference is new.
    pub before: Option<ResolvedStep>,
    /// Null if the reference is gone.
    pub after: Option<ResolvedStep>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineAuthor {
    pub id: String,
    pub name: String,
}

impl From<domain::PipelineVersion> for PipelineVersion {
    fn from(version: domain::PipelineVersion) -> Self {
        Self {
            version: version.version,
            digest: version.digest,
            created_at: version.created_at,
            created_by: PipelineAuthor { id: version.created_by.to_string(), name: version.created_by_name },
            definition: Some(version.source),
            steps: None,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreatePipeline {
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// The pipeline's name in URLs; derived from `name` if left out.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub slug: Option<String>,
    #[schema(min_length = 1, max_length = 500)]
    pub repository: Option<String>,
    /// The definition in YAML. Its JSON Schema is at `/api/v1/schemas/pipeline-definition.json`.
    #[schema(min_length = 1, max_length = 1_048_576)]
    pub definition: String,
}

/// Changes to a pipeline. Fields that are left out stay unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdatePipeline {
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    #[schema(pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub slug: Option<String>,
    /// The repository's URL; `null` removes it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 500)]
    pub repository: Option<Option<String>>,
    #[schema(min_length = 1, max_length = 1_048_576)]
    pub definition: Option<String>,
}

/// Distinguishes a field that is null from one that is missing.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopPipeline {
    /// What happens to deployments that are already running; `drain` if left out. New deployments do not
    /// start in any mode.
    pub mode: Option<StopMode>,
    #[schema(min_length = 1, max_length = 500)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumePipeline {
    #[schema(min_length = 1, max_length = 500)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidateDefinition {
    /// The definition to check. It may be any text; the response lists its errors.
    pub definition: String,
}

/// The result of checking a definition.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionReport {
    pub valid: bool,
    /// The parsed definition; null if it is not valid.
    pub definition: Option<serde_json::Value>,
    /// The errors; empty if the definition is valid.
    pub errors: Vec<crate::problem::FieldProblem>,
    /// Parts of the definition that are allowed but probably not intended.
    #[serde(default)]
    pub warnings: Vec<DefinitionWarning>,
}

/// A part of a definition that is allowed but probably not intended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionWarning {
    /// The stable name of the warning, for programs. Later versions may add names.
    #[schema(example = "runs_without_environment")]
    pub code: String,
    pub message: String,
    /// The place in the definition, as a JSON pointer.
    #[schema(example = "/stages/deploy")]
    pub path: String,
    #[schema(minimum = 1)]
    pub line: u32,
    #[schema(minimum = 1)]
    pub column: u32,
}

/// The saved pipeline, and warnings about its definition.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct SavedPipeline {
    pub data: Pipeline,
    /// The warnings; empty if the request contained no definition.
    pub warnings: Vec<DefinitionWarning>,
}
