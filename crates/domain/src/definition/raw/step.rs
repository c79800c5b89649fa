//! Raw steps.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::located::{Entries, Located};
use super::super::{duration, limits, name_rules};
use super::{Value, Variables};

/// One thing to do: a script in an image (`image` and `run`), or a step of a registry (`uses`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("oneOf" = [
    {"required": ["image", "run"], "not": {"anyOf": [{"required": ["with"]}, {"required": ["uses"]}]}},
    {"required": ["uses"], "not": {"anyOf": [{"required": ["image"]}, {"required": ["run"]}]}}
]))]
pub(in crate::definition) struct Step {
    /// What people call it.
    #[schemars(length(min = 1, max = limits::TEXT_BYTES))]
    pub(in crate::definition) name: Option<Located<String>>,

    /// The container image that the script runs in, such as `rust:1.95`.
    #[schemars(regex(pattern = name_rules::IMAGE), length(max = limits::TEXT_BYTES))]
    pub(in crate::definition) image: Option<Located<String>>,

    /// The script.
    #[schemars(length(min = 1, max = limits::SCRIPT_BYTES))]
    pub(in crate::definition) run: Option<Located<String>>,

    /// A step of a registry: `registry/name@version`, where the version is such as `v2`, `v1.2.3` or a `sha256:` digest.
    #[schemars(regex(pattern = name_rules::STEP_REFERENCE))]
    pub(in crate::definition) uses: Option<Located<String>>,

    /// The inputs of the step that is used.
    #[schemars(extend("propertyNames" = {"pattern": name_rules::INPUT}, "maxProperties" = limits::ENTRIES))]
    pub(in crate::definition) with: Option<Located<Entries<Value>>>,

    /// Environment variables for this step.
    #[schemars(extend("propertyNames" = {"pattern": name_rules::VARIABLE}, "maxProperties" = limits::ENTRIES))]
    pub(in crate::definition) variables: Option<Variables>,

    /// Secrets that the step gets as environment variables: name of the variable, then name of the secret.
    #[schemars(extend(
        "propertyNames" = {"pattern": name_rules::VARIABLE},
        "maxProperties" = limits::ENTRIES,
        "additionalProperties" = {"type": "string", "pattern": name_rules::NAME}
    ))]
    pub(in crate::definition) secrets: Option<Entries<String>>,

    /// How long it may run, such as `10m`; `24h` at most.
    #[schemars(regex(pattern = duration::PATTERN))]
    pub(in crate::definition) timeout: Option<Located<String>>,

    /// How often it is retried when the platform fails. A step that fails is not retried.
    pub(in crate::definition) retry: Option<Located<Retry>>,
}

/// How often a step is retried when the platform fails.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::definition) struct Retry {
    /// The number of attempts, including the first.
    #[schemars(required, range(min = 1, max = limits::ATTEMPTS))]
    pub(in crate::definition) attempts: Option<Located<u64>>,

    /// How long to wait between two attempts, such as `10s`, which it is if not given; `1h` at most.
    #[schemars(regex(pattern = duration::PATTERN))]
    pub(in crate::definition) backoff: Option<Located<String>>,
}
