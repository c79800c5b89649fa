//! Secrets, their versions and the log of their reads. No response contains a value.

use greenroom_domain::secret as domain;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;
use crate::reference_warning::ReferenceWarning;

open_enum!(
    SecretScope(domain::ScopeKind),
    "For which deployments a secret is meant. Of several with the same name, a step gets the one with the narrowest scope."
);

open_enum!(
    SecretVersionStatus(domain::VersionStatus),
    "The status of a version. `active`: steps get this one; `staged`: it was set in advance; `retired`: it was active before, \
     and can be again; `destroyed`: its value was deleted."
);

open_enum!(
    SecretUseKind(domain::UsageKind),
    "What the platform itself uses a secret for. `checkout`: to fetch the repository; `registry`: to pull images."
);

/// A secret, without its value.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Secret {
    #[schema(example = "sec_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    #[schema(example = "shop-deploy-key")]
    pub name: String,
    pub scope: SecretScope,
    /// The pipeline, if the scope is `pipeline` or `environment`.
    pub pipeline_id: Option<String>,
    /// The environment, or the template such as `pr-*`, if the scope is `environment`.
    #[schema(example = "production")]
    pub environment: Option<String>,
    #[schema(example = "Deploys the shop")]
    pub description: Option<String>,
    pub policy: SecretPolicy,
    /// Set if the platform itself uses the secret. No step gets such a secret.
    pub r#use: Option<SecretUse>,
    /// The version that steps get.
    pub active_version: i32,
    pub created_at: Timestamp,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub created_by: String,
    /// When the secret, or one of its versions, was last changed.
    pub updated_at: Timestamp,
    /// Set if the secret was deleted. Its values are destroyed then.
    pub deleted_at: Option<Timestamp>,
}

/// Which stages get a secret. All rules must hold; a rule that is left out or null holds always.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretPolicy {
    /// Ids of pipelines. Only for a secret of the whole organization, which must name them if it has another
    /// rule or a `use`.
    #[schema(min_items = 1, max_items = 100)]
    pub pipelines: Option<Vec<String>>,
    /// Names of environments, templates such as `pr-*`, or `none` for stages that deploy to no environment.
    #[schema(min_items = 1, max_items = 100)]
    pub environments: Option<Vec<String>>,
    /// Names of runner pools.
    #[schema(min_items = 1, max_items = 100)]
    pub pools: Option<Vec<String>>,
    /// The commit must have been proven to be on one of these branches by the job's checkout.
    #[schema(min_items = 1, max_items = 100)]
    pub branches: Option<Vec<String>>,
    /// Only of a secret that the platform fetches repositories with: the repositories that it is for, as `HOST`,
    /// `HOST/OWNER` or `HOST/OWNER/NAME`, compared without case. `HOST` is the one in `use`. All repositories of the
    /// host if it is left out, which is warned of if the secret is one of the whole organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 100, example = json!(["git.example.com/acme"]))]
    pub repositories: Option<Vec<String>>,
}

/// What the platform itself uses a secret for.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretUse {
    pub kind: SecretUseKind,
    /// The only host that the secret is sent to, by https; with a port if it is not 443.
    #[schema(example = "git.example.com")]
    pub host: String,
}

/// The saved secret, and warnings about names in its scope and policy.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct SavedSecret {
    pub data: Secret,
    /// Names that match nothing yet: the secret is saved, and no step gets it there. And `all_repositories`, for a
    /// checkout credential of the whole organization that is for every repository of its host.
    pub warnings: Vec<ReferenceWarning>,
}

/// The value of a secret in a request. It is never part of a response, and `Debug` does not print it.
pub struct SecretText(String);

impl SecretText {
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretText")
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Serde's own message would repeat a value of another type.
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(Self(text)),
            _ => Err(serde::de::Error::custom("must be a text")),
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateSecret {
    /// The name that steps use. It is unique within the scope.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub name: String,
    /// The pipeline, by id or slug. If left out, the secret is one of the whole organization.
    pub pipeline_id: Option<String>,
    /// An environment of the pipeline, lasting or ephemeral, or a template such as `pr-*`.
    pub environment: Option<String>,
    #[schema(min_length = 1, max_length = 500)]
    pub description: Option<String>,
    pub policy: Option<SecretPolicy>,
    pub r#use: Option<SecretUse>,
    /// The value: UTF-8 of at least 6 characters and at most 65,536 bytes, without NUL.
    #[schema(value_type = String, min_length = 6, max_length = 65536, write_only)]
    pub value: SecretText,
}

/// Changes to a secret. Fields that are left out stay unchanged. Its name, scope and `use` can't be changed,
/// and its value is set by `PUT …/value`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateSecret {
    /// `null` removes it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 500)]
    pub description: Option<Option<String>>,
    /// Replaces the whole policy, for steps that start from now on; `null` removes all rules.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SecretPolicy>)]
    pub policy: Option<Option<SecretPolicy>>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetSecretValue {
    /// The value: UTF-8 of at least 6 characters and at most 65,536 bytes, without NUL.
    #[schema(value_type = String, min_length = 6, max_length = 65536, write_only)]
    pub value: SecretText,
    /// If true, the version is stored and not used until it is activated; false if left out.
    #[serde(default)]
    #[schema(required = false)]
    pub staged: bool,
}

/// A version of a secret, without its value.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretVersion {
    #[schema(minimum = 1)]
    pub version: i32,
    pub status: SecretVersionStatus,
    /// The length of the value.
    pub bytes: i32,
    pub created_at: Timestamp,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub created_by: String,
    /// When it became active for the last time.
    pub activated_at: Option<Timestamp>,
    pub destroyed_at: Option<Timestamp>,
}

/// A read of a secret: a step, or the platform for a job, got a version.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRead {
    #[schema(example = "sec_0190a0b0-0000-7000-8000-000000000001")]
    pub secret_id: String,
    pub version: i32,
    pub deployment_id: String,
    #[schema(example = "deploy")]
    pub stage: String,
    pub attempt: u32,
    #[schema(example = "job_0190a0b0-0000-7000-8000-000000000001")]
    pub job_id: String,
    /// Null if the platform itself used the secret for the job.
    #[schema(example = "stp_0190a0b0-0000-7000-8000-000000000001")]
    pub step_run_id: Option<String>,
    #[schema(example = "run_0190a0b0-0000-7000-8000-000000000001")]
    pub runner_id: String,
    pub at: Timestamp,
}

/// A read of a deployment: what to rotate if something of it has leaked.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentSecretRead {
    #[serde(flatten)]
    pub read: SecretRead,
    #[schema(example = "shop-deploy-key")]
    pub secret_name: String,
    /// The status of the version that was read, now. An `active` one has not been rotated since.
    pub version_status: SecretVersionStatus,
}

/// Distinguishes a field that is null from one that is missing.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
