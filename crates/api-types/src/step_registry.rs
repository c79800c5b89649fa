//! Step registries, their steps, and the versions of these.

use greenroom_domain::step_registry as domain;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;
use crate::secret::SecretText;

open_enum!(
    StepRegistryStatus(domain::RegistryStatus),
    "`active`; `degraded` if the last synchronization failed or refused some content (`error`), and what is known stays \
     available; `disabled` by an admin: not synchronized, and nothing new is resolved from it."
);

/// A git repository that publishes steps by tags such as `roll-out/v2.3.0`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRegistry {
    #[schema(example = "reg_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    /// The first part of `uses: NAME/step@v2`. Unique among the registries that are not deleted.
    #[schema(example = "acme")]
    pub name: String,
    #[schema(example = "https://git.example.com/acme/steps.git")]
    pub url: String,
    /// Who may sign tags: lines with a name and a public SSH key.
    pub signers: Vec<String>,
    /// Whether tags without a valid signature of a signer are refused.
    pub require_signature: bool,
    /// How long a version has to be known before something is resolved to it.
    pub minimum_age_seconds: i64,
    /// Whether a credential is set. It can never be read back.
    pub has_credential: bool,
    pub status: StepRegistryStatus,
    /// When it was last synchronized without a failure. Null: never.
    pub synced_at: Option<Timestamp>,
    /// When it is synchronized next.
    pub next_sync_at: Timestamp,
    /// Why the status is `degraded`.
    pub error: Option<String>,
    pub created_at: Timestamp,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub created_by: String,
    pub updated_at: Timestamp,
    /// Set if the registry was deleted. It is not synchronized any more; its versions stay.
    pub deleted_at: Option<Timestamp>,
}

/// The credential of a private repository. No response contains it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, try_from = "serde_json::Value")]
pub struct RegistryCredential {
    /// One line without `:`. Default: `x-access-token`, which forges expect with a token.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 4096, write_only)]
    pub username: Option<SecretText>,
    /// A password or a token: one line.
    #[schema(value_type = String, min_length = 1, max_length = 4096, write_only)]
    pub password: SecretText,
}

/// Serde's own messages would repeat a value of another type.
impl TryFrom<serde_json::Value> for RegistryCredential {
    type Error = &'static str;

    fn try_from(value: serde_json::Value) -> Result<Self, &'static str> {
        let serde_json::Value::Object(mut fields) = value else {
            return Err("must be an object with a `password`");
        };
        let mut text = |name| match fields.remove(name) {
            None | Some(serde_json::Value::Null) => Ok(None),
            Some(value) => SecretText::deserialize(value).map(Some),
        };
        let username = text("username").map_err(|_| "must have a text as `username`")?;
        let password = text("password").ok().flatten().ok_or("must have a text as `password`")?;
        if fields.is_empty() {
            Ok(Self { username, password })
        } else {
            Err("must have no other fields than `username` and `password`")
        }
    }
}

/// A new registry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateStepRegistry {
    #[schema(example = "acme", pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub name: String,
    /// The https address of a git repository, without user name, password, query and fragment. Its host is resolved and
    /// checked whenever it is connected to.
    #[schema(min_length = 1, max_length = 255)]
    pub url: String,
    /// Lines with a name and a public SSH key, as in an allowed-signers file: `alice@example.com ssh-ed25519 AAAA…`. After the
    /// name there may be `valid-after="20260101Z"` and `valid-before="20270101Z"`, separated by a comma. Default: none.
    #[serde(default)]
    #[schema(max_items = 50)]
    pub signers: Vec<String>,
    /// Whether tags without a valid signature of a signer are refused. Default: false.
    #[serde(default)]
    pub require_signature: bool,
    /// How long a version has to be known before something is resolved to it. Default: 0.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 7_776_000)]
    pub minimum_age_seconds: i64,
    /// For a private repository. It is sent to the host of `url` only, and can never be read back. Default: none.
    #[schema(write_only)]
    pub credential: Option<RegistryCredential>,
}

/// Changes to a registry. Fields that are left out stay unchanged.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateStepRegistry {
    /// Definitions that name the registry are not changed, and what they have locked stays locked.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub name: Option<String>,
    /// Versions that are known stay as they are: a tag of another repository that refers to another object is refused.
    #[schema(min_length = 1, max_length = 255)]
    pub url: Option<String>,
    /// Replaces the list.
    #[schema(max_items = 50)]
    pub signers: Option<Vec<String>>,
    pub require_signature: Option<bool>,
    #[schema(minimum = 0, maximum = 7_776_000)]
    pub minimum_age_seconds: Option<i64>,
    /// Whether it is disabled: not synchronized, and nothing new is resolved from it.
    pub disabled: Option<bool>,
    /// Replaces the credential; `null` removes it. Another `url` needs it again: the stored one is for the former address.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<RegistryCredential>, write_only)]
    pub credential: Option<Option<RegistryCredential>>,
}

/// Distinguishes `null` from a field that is left out.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A step of a registry.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryStep {
    #[schema(example = "roll-out")]
    pub name: String,
    /// The newest version: the highest release that is not yanked, if there is one.
    pub newest: RegistryStepVersion,
    /// How many versions it has.
    pub versions: i64,
}

/// A version of a step.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryStepVersion {
    #[schema(example = "roll-out")]
    pub name: String,
    #[schema(example = "2.3.0")]
    pub version: String,
    /// The digest of its content: the SHA-256 of the sorted list of its files.
    #[schema(example = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")]
    pub digest: String,
    /// The git object that its tag referred to when it was first seen. A tag that refers to another one is refused.
    #[schema(example = "9f3c2a1b7d4e8f60512a3b4c5d6e7f8091a2b3c4")]
    pub tag_object: String,
    #[schema(example = "Rolls a deployment out")]
    pub description: Option<String>,
    /// The size of its files.
    pub bytes: i64,
    /// The name of the signer of its tag. Null: not signed, or the registry had no signers.
    #[schema(example = "releases@example.com")]
    pub signer: Option<String>,
    /// When it was first seen.
    pub seen_at: Timestamp,
    /// Set if it was yanked: nothing new is resolved to it.
    pub yanked: Option<StepYank>,
}

/// Why a version was yanked.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepYank {
    pub at: Timestamp,
    /// The id of the user.
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub by: String,
    pub reason: String,
    /// Whether it may not even run where it is locked: stages that use it fail.
    pub refused: bool,
}

/// A version with what can be read of its content.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryStepVersionDetail {
    #[serde(flatten)]
    pub version: RegistryStepVersion,
    /// The text of its `step.yaml`.
    pub manifest: String,
    /// Its files, sorted by path.
    pub files: Vec<StepFile>,
}

/// A file of a step.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepFile {
    /// As git writes it: `100644`, or `100755` if it is executable.
    #[schema(example = "100755")]
    pub mode: String,
    #[schema(example = "run.sh")]
    pub path: String,
    /// The SHA-256 of its content.
    #[schema(example = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c")]
    pub sha256: String,
}

/// What has changed between two versions of a step.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepDiff {
    /// The earlier version. Null if there is none: everything is new.
    pub from: Option<RegistryStepVersion>,
    pub to: RegistryStepVersion,
    /// A unified diff of the lists of files: lines of mode, path and SHA-256. Empty if they are the same.
    pub files: String,
    /// A unified diff of `step.yaml`. Empty if it is the same.
    pub manifest: String,
}

/// A reference to a step in the current definition of a pipeline.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUsage {
    pub pipeline_id: String,
    #[schema(example = "storefront")]
    pub pipeline: String,
    /// The version of the pipeline's definition.
    pub definition_version: i32,
    /// As written in the definition.
    #[schema(example = "acme/roll-out@v2")]
    pub uses: String,
    /// The version that is locked.
    #[schema(example = "2.3.0")]
    pub version: String,
    #[schema(example = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")]
    pub digest: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct YankStepVersion {
    /// Shown to everyone who uses the version.
    #[schema(min_length = 1, max_length = 500)]
    pub reason: String,
    /// Whether it may not even run where it is locked: stages that use it fail. Default: false. Once set, it stays.
    #[serde(default)]
    pub refuse: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResolveStep {
    /// A reference as in a definition: `registry/step@v2`, `@v2.3`, `@v2.3.0` or `@sha256:…`.
    #[schema(example = "acme/roll-out@v2", min_length = 1, max_length = 255)]
    pub uses: String,
}

/// What a reference is resolved to now. A definition that is saved now would lock the same.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedStep {
    #[schema(example = "acme/roll-out@v2")]
    pub uses: String,
    #[schema(example = "reg_0190a0b0-0000-7000-8000-000000000001")]
    pub registry_id: String,
    #[schema(example = "acme")]
    pub registry: String,
    #[schema(example = "roll-out")]
    pub name: String,
    #[schema(example = "2.3.0")]
    pub version: String,
    #[schema(example = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")]
    pub digest: String,
}
