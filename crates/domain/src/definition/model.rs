//! The checked definition, which the engine runs, the API returns as `configuration`, and the store saves as
//! JSON.
//!
//! Everything with an order is a list and not a map, because `jsonb` in PostgreSQL does not keep the order of
//! keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::step_reference::{Scalar, StepReference};
use crate::role::Role;
use crate::step::{LockedStep, StepManifest};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    pub version: u32,
    pub variables: BTreeMap<String, String>,
    /// The runner of stages without one.
    pub runner: Option<Runner>,
    /// The maximum of concurrent deployments of the pipeline; unlimited if absent.
    pub concurrency: Option<u32>,
    pub environments: Vec<Environment>,
    pub ephemeral_environments: Vec<EphemeralEnvironment>,
    pub environment_templates: Vec<EnvironmentTemplate>,
    /// Where fixes are verified; `None`: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<FixRule>,
    /// In the order of the file, which is the order of display; `needs` determines the order of execution.
    pub stages: Vec<Stage>,
    /// What the references to steps of registries meant when the definition was saved, by the references.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub locked_steps: LockedSteps,
}

/// Steps of registries by the references to them: `acme/roll-out@v2`.
pub type LockedSteps = BTreeMap<String, LockedManifest>;

/// A step of a registry that a definition has locked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockedManifest {
    #[serde(flatten)]
    pub step: LockedStep,
    pub manifest: StepManifest,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Runner {
    pub pool: String,
}

/// Where fixes of failures are verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FixRule {
    /// The ephemeral environments that have all of these labels.
    pub labels: Vec<String>,
}

/// An environment that lasts, such as production.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    pub name: String,
    pub url: Option<String>,
    /// A deployed commit has to be on one of these branches; if there are none, on any branch of the
    /// repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<String>,
    /// Required before each stage that deploys here.
    pub approval: Option<Approval>,
    /// Who may start or retry a stage here; `None`: everyone who may start a deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy: Option<DeployRule>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
}

/// Members of one of the groups, and users whose role on the pipeline is one of the roles or a higher one. A
/// group that does not exist has no members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeployRule {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
}

impl DeployRule {
    /// Returns the lowest role that may deploy, if a role is enough.
    pub fn least_role(&self) -> Option<Role> {
        self.roles.iter().copied().min()
    }
}

/// An environment that is claimed and released, with its own name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EphemeralEnvironment {
    pub name: String,
    #[serde(flatten)]
    pub settings: EphemeralSettings,
}

/// Environments that are created when one of their names is claimed for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentTemplate {
    /// The text before the star: `pr-` for `pr-*`.
    pub prefix: String,
    /// The maximum of environments of this template.
    pub max: u32,
    #[serde(flatten)]
    pub settings: EphemeralSettings,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EphemeralSettings {
    pub description: Option<String>,
    pub labels: Vec<String>,
    /// May contain `{name}`; see [`EphemeralSettings::url_for`].
    pub url: Option<String>,
    pub lease: Lease,
    /// The stages that a deployment here runs. Their `needs` outside of this list are ignored.
    pub stages: Vec<String>,
    /// The stages that clean up when a session has ended. Their `needs` outside of this list are ignored.
    pub on_release: Vec<String>,
    pub force: Option<ForceRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueRule>,
    pub variables: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    pub default_seconds: u64,
    pub max_seconds: u64,
}

/// Who may take the environment from its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForceRule {
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ForceReason>,
}

/// Whether a force claim has to give a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ForceReason {
    Required,
}

/// Rules for requests for hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandoverRule {
    /// The default and the minimum time for an answer of the holder.
    pub grace_seconds: u64,
}

/// Rules for the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueRule {
    /// How long a person keeps a place without a heartbeat.
    pub max_stay_seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    pub key: String,
    pub name: Option<String>,
    pub needs: Vec<String>,
    /// A CEL expression, which is known to be valid.
    #[serde(rename = "if")]
    pub condition: Option<String>,
    /// The lasting environment that it deploys to.
    pub environment: Option<String>,
    /// The kind of deployment that the stage is restricted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Only>,
    pub runner: Option<Runner>,
    pub variables: BTreeMap<String, String>,
    pub timeout_seconds: Option<u64>,
    pub approval: Option<Approval>,
    /// The hosts from which submodules are fetched, with a port if that is not 443; none if it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<String>,
    /// Paths in the workspace that are kept for later stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// The stages from which it takes files and outputs although their pools take more jobs than its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept_from: Vec<String>,
    /// Paths that are kept from one deployment to the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<Cache>,
    pub steps: Vec<Step>,
}

/// The kind of deployment that a stage is restricted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Only {
    /// Deployments of sessions.
    Ephemeral,
}

/// Paths in the workspace under a key that is unique in the pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cache {
    pub key: String,
    pub paths: Vec<String>,
}

/// Who has to approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    #[serde(flatten)]
    pub rules: ApprovalRules,
    pub timeout_seconds: Option<u64>,
    /// How long after the approval the first step may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_for_seconds: Option<u64>,
    /// Whether those who started or retried the deployment may approve it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_approval: bool,
    /// The least role that may override it.
    #[serde(rename = "override", default, skip_serializing_if = "OverrideRole::is_default")]
    pub override_role: OverrideRole,
    pub message: Option<String>,
}

/// The rules of an approval, as in the file: a single one, or a list. All of them have to be met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ApprovalRules {
    List { rules: Vec<ApprovalRule> },
    Single(ApprovalRule),
}

/// `count` of these people have to approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRule {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    pub roles: Vec<Role>,
    /// E-mail addresses or ids.
    pub users: Vec<String>,
    pub count: u32,
}

/// Who may override an approval, from the weakest protection to the strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverrideRole {
    #[default]
    Admin,
    Owner,
    /// The approval can't be overridden.
    None,
}

crate::text_enum::text_enum!(OverrideRole { Admin = "admin", Owner = "owner", None = "none" });

impl OverrideRole {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub fn permits(self, role: Role) -> bool {
        match self {
            Self::Admin => role >= Role::Admin,
            Self::Owner => role >= Role::Owner,
            Self::None => false,
        }
    }
}

impl ApprovalRules {
    pub fn as_slice(&self) -> &[ApprovalRule] {
        match self {
            Self::List { rules } => rules,
            Self::Single(rule) => std::slice::from_ref(rule),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub name: Option<String>,
    #[serde(flatten)]
    pub work: StepWork,
    pub variables: BTreeMap<String, String>,
    /// Name of the variable → the secret.
    pub secrets: BTreeMap<String, StepSecret>,
    /// Name of the variable with the path of an id token → the token's audience.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub id_tokens: BTreeMap<String, String>,
    pub timeout_seconds: Option<u64>,
    pub retry: Option<Retry>,
}

/// A secret that a step gets. In stored definitions it is its name, if it is not a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSecret", into = "StoredSecret")]
pub struct StepSecret {
    pub name: String,
    /// The value is in a file, and the variable has its path.
    pub is_file: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredSecret {
    Name(String),
    Map { secret: String, file: bool },
}

impl From<StoredSecret> for StepSecret {
    fn from(stored: StoredSecret) -> Self {
        match stored {
            StoredSecret::Name(name) => Self { name, is_file: false },
            StoredSecret::Map { secret, file } => Self { name: secret, is_file: file },
        }
    }
}

impl From<StepSecret> for StoredSecret {
    fn from(secret: StepSecret) -> Self {
        match secret.is_file {
            false => Self::Name(secret.name),
            true => Self::Map { secret: secret.name, file: true },
        }
    }
}

/// What a step runs: a script in an image, or a step of a registry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, rename_all = "camelCase")]
pub enum StepWork {
    Script { image: String, run: String },
    Registry { uses: StepReference, with: BTreeMap<String, Scalar> },
}

/// Retries apply to failures of the platform only. A step that fails is not retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// Including the first one.
    pub attempts: u32,
    pub backoff_seconds: u64,
}
