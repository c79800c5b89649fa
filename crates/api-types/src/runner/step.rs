//! The steps of a job: what a runner gets for them, and what it reports.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStep {
    #[schema(example = "stp_0190a0b0-0000-7000-8000-000000000001")]
    pub step_run_id: String,
    pub name: String,
    pub image: String,
    /// A script for `/bin/sh`.
    pub run: String,
    /// All environment variables of the step: those of the pipeline, and the `GREENROOM_…` variables of the
    /// platform.
    pub variables: BTreeMap<String, String>,
    pub timeout_seconds: Option<u64>,
    /// The step of a registry that runs; null if the pipeline's definition has the script itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_step: Option<JobRegistryStep>,
}

/// The step of a registry. Its files are at `GET …/steps/{digest}`. The runner verifies their digest before the step starts, and mounts
/// them read-only at `/greenroom/step`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobRegistryStep {
    /// The reference in the definition: `acme/roll-out@v2`.
    #[schema(example = "acme/roll-out@v2")]
    pub uses: String,
    /// The version that the definition has locked.
    #[schema(example = "2.3.0")]
    pub version: String,
    /// `sha256:` and the digest of the files: the SHA-256 of their sorted lines of mode, path and SHA-256.
    #[schema(example = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub digest: String,
    /// The inputs with their types and defaults, for `/greenroom/inputs.json`.
    #[schema(value_type = Object)]
    pub inputs: serde_json::Value,
}

/// The report that a step is about to start. The body may be left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepStart {
    /// The digest that the step's image reference resolved to when the job was prepared. It is the digest of
    /// the manifest, or of the configuration if the image was never in a registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^sha256:[0-9a-f]{64}$")]
    pub image_digest: Option<String>,
}

/// The response to the start of a step.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepStarted {
    /// The secrets of the step. Only this response contains them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<StepSecret>,
    /// The id tokens of the step. The runner requests new ones before they expire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub id_tokens: Vec<StepIdToken>,
}

/// The response to a request for new id tokens of a running step.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefreshedIdTokens {
    /// All id tokens of the step.
    #[serde(default)]
    pub id_tokens: Vec<StepIdToken>,
}

/// An id token of a step. The runner masks it in everything that it reports.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepIdToken {
    /// The variable with the path of the file that contains the token.
    #[schema(example = "AWS_WEB_IDENTITY_TOKEN_FILE")]
    pub variable: String,
    /// The token: a signed JSON Web Token.
    pub token: String,
    /// When it expires.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

/// Leaves the token out.
impl fmt::Debug for StepIdToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StepIdToken { variable, expires_at, token: _ } = self;
        let mut fields = formatter.debug_struct("StepIdToken");
        fields.field("variable", variable).field("expires_at", expires_at).finish_non_exhaustive()
    }
}

/// A secret of a step. The runner masks its value in everything that it reports.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepSecret {
    /// The variable with the value, or with the path of a file that contains it.
    #[schema(example = "DEPLOY_KEY")]
    pub variable: String,
    /// The secret's name, for messages.
    #[schema(example = "shop-deploy-key")]
    pub name: String,
    /// The bytes of the value, in base64.
    pub value: String,
    /// Whether the variable contains the path of a file.
    #[serde(default)]
    pub file: bool,
}

/// Leaves the value out.
impl fmt::Debug for StepSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StepSecret { variable, name, file, value: _ } = self;
        let mut fields = formatter.debug_struct("StepSecret");
        fields.field("variable", variable).field("name", name).field("file", file).finish_non_exhaustive()
    }
}

/// How a step ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepEnd {
    pub status: StepEndStatus,
    /// The exit code of the step's program.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// A human-readable explanation of what went wrong.
    #[serde(default)]
    pub reason: Option<String>,
    /// The outputs that the step wrote to the file `$GREENROOM_OUTPUT`.
    #[serde(default)]
    pub outputs: BTreeMap<String, String>,
    /// The total length of the step's log, so that the server detects missing parts.
    #[serde(default)]
    pub log_bytes: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepEndStatus {
    Succeeded,
    /// The step failed.
    Failed,
    /// The platform failed.
    Errored,
    Canceled,
}

/// The number of bytes of a step's log that the server has stored.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogSize {
    pub bytes: u64,
}
