//! The checked definition: what the engine runs, the API shows as `configuration`, and the store keeps as JSON.
//!
//! Whatever has an order is a list and not a map, because JSON in PostgreSQL keeps no order of keys.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::words;
use crate::role::Role;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    pub version: u32,
    pub variables: BTreeMap<String, String>,
    /// For stages that name none.
    pub runner: Option<Runner>,
    /// Deployments of the pipeline that may run at once; no bound of its own if absent.
    pub concurrency: Option<u32>,
    pub environments: Vec<Environment>,
    pub ephemeral_environments: Vec<EphemeralEnvironment>,
    pub environment_templates: Vec<EnvironmentTemplate>,
    /// In the order of the file, which is the order of display; what runs when is decided by `needs`.
    pub stages: Vec<Stage>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Runner {
    pub pool: String,
}

/// An environment that lasts, such as production.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    pub name: String,
    pub url: Option<String>,
    /// A commit that is deployed here has to be on one of these; if there are none, on any branch of the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<String>,
    /// Asked for before each stage that deploys here.
    pub approval: Option<Approval>,
}

/// An environment that is claimed and let go, by its own name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EphemeralEnvironment {
    pub name: String,
    #[serde(flatten)]
    pub settings: EphemeralSettings,
}

/// Environments that come into being when one of their names is first claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentTemplate {
    /// What stands before the star: `pr-` for `pr-*`.
    pub prefix: String,
    /// How many may exist at once.
    pub max: u32,
    #[serde(flatten)]
    pub settings: EphemeralSettings,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EphemeralSettings {
    pub description: Option<String>,
    pub labels: Vec<String>,
    /// May hold `{name}`; see [`EphemeralSettings::url_for`].
    pub url: Option<String>,
    pub lease: Lease,
    /// The stages that a deployment here runs. Of their `needs` only those inside this list are waited for.
    pub stages: Vec<String>,
    /// The stages that clean up when a session has ended, under the same rule.
    pub on_release: Vec<String>,
    pub force: Option<ForceRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverRule>,
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
    #[serde(deserialize_with = "role")]
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ForceReason>,
}

/// Whether a force claim has to say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ForceReason {
    Required,
}

/// How requests for hand-over are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandoverRule {
    /// How long the holder has to answer, by default and at least.
    pub grace_seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    pub key: String,
    pub name: Option<String>,
    pub needs: Vec<String>,
    /// A CEL expression, known to parse.
    #[serde(rename = "if")]
    pub condition: Option<String>,
    /// The lasting environment that it deploys to.
    pub environment: Option<String>,
    /// The only deployments that run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Only>,
    pub runner: Option<Runner>,
    pub variables: BTreeMap<String, String>,
    pub timeout_seconds: Option<u64>,
    pub approval: Option<Approval>,
    /// Paths in the workspace that are kept for the stages after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// What is kept from one deployment to the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<Cache>,
    pub steps: Vec<Step>,
}

/// The kind of deployment that a stage is restricted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Only {
    /// Those of sessions.
    Ephemeral,
}

/// Paths in the workspace under a key of the pipeline's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cache {
    pub key: String,
    pub paths: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    #[serde(deserialize_with = "roles")]
    pub roles: Vec<Role>,
    pub users: Vec<String>,
    pub count: u32,
    pub timeout_seconds: Option<u64>,
    pub message: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub name: Option<String>,
    #[serde(flatten)]
    pub work: StepWork,
    pub variables: BTreeMap<String, String>,
    /// Name in the step's environment → name of the secret.
    pub secrets: BTreeMap<String, String>,
    pub timeout_seconds: Option<u64>,
    pub retry: Option<Retry>,
}

/// What a step does, one of two ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, rename_all = "camelCase")]
pub enum StepWork {
    Script { image: String, run: String },
    Registry { uses: StepReference, with: BTreeMap<String, Scalar> },
}

/// `registry/name@version`, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepReference {
    pub registry: String,
    pub name: String,
    /// `v2`, `1.2.3`, or `sha256:` and a digest.
    pub version: String,
}

/// A single value, of the type that it had in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
}

/// Only for what the platform did wrong: a step that fails has said no, and is not asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// With the first one.
    pub attempts: u32,
    pub backoff_seconds: u64,
}

impl StepReference {
    pub(super) fn new(text: &str) -> Option<Self> {
        let (registry, name, version) = words::step_reference(text)?;
        Some(Self { registry: registry.to_owned(), name: name.to_owned(), version: version.to_owned() })
    }
}

impl fmt::Display for StepReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.registry, self.name, self.version)
    }
}

impl Serialize for StepReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StepReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| serde::de::Error::custom("must be `registry/name@version`"))
    }
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

fn roles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Role>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    words.iter().map(|word| word.parse().map_err(serde::de::Error::custom)).collect()
}
