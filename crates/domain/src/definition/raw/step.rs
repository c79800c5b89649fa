//! Raw steps.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer};
use serde_json::json;

use super::super::located::{Entries, Located};
use super::super::{duration, limits, name_rules};
use super::{Value, Variables};

/// One thing to do: a script in an image (`image` and `run`), or a step of a registry (`uses`).
#[derive(Debug, serde::Deserialize, JsonSchema)]
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

    /// Secrets that the step gets as environment variables: name of the variable, then name of the secret, or
    /// `{ secret: name, file: true }` to get its value in a file, whose path is the variable's value.
    #[schemars(extend("propertyNames" = {"pattern": name_rules::VARIABLE}, "maxProperties" = limits::ENTRIES))]
    pub(in crate::definition) secrets: Option<Entries<SecretReference>>,

    /// Id tokens that the step gets in files, which are replaced before they expire: name of the variable with the
    /// path, then the audience, such as `sts.amazonaws.com`.
    #[schemars(extend(
        "propertyNames" = {"pattern": name_rules::VARIABLE},
        "additionalProperties" = {"type": "string", "pattern": name_rules::AUDIENCE},
        "maxProperties" = limits::ID_TOKENS
    ))]
    pub(in crate::definition) id_tokens: Option<Entries<String>>,

    /// How long it may run, such as `10m`; `24h` at most.
    #[schemars(regex(pattern = duration::PATTERN))]
    pub(in crate::definition) timeout: Option<Located<String>>,

    /// How often it is retried when the platform fails. A step that fails is not retried.
    pub(in crate::definition) retry: Option<Located<Retry>>,
}

/// A secret that a step uses: its name, or a map with `secret` and `file`.
#[derive(Debug)]
pub(in crate::definition) enum SecretReference {
    Name(String),
    Map(SecretMap),
    /// A number, a list, or nothing.
    Other,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::definition) struct SecretMap {
    pub(in crate::definition) secret: Option<Located<String>>,
    pub(in crate::definition) file: Option<Located<Value>>,
}

impl<'de> Deserialize<'de> for SecretReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = SecretReference;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a secret")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<SecretReference, E> {
                Ok(SecretReference::Name(name.to_owned()))
            }

            fn visit_unit<E: de::Error>(self) -> Result<SecretReference, E> {
                Ok(SecretReference::Other)
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<SecretReference, E> {
                Ok(SecretReference::Other)
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<SecretReference, E> {
                Ok(SecretReference::Other)
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<SecretReference, E> {
                Ok(SecretReference::Other)
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<SecretReference, E> {
                Ok(SecretReference::Other)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<SecretReference, A::Error> {
                while list.next_element::<de::IgnoredAny>()?.is_some() {}
                Ok(SecretReference::Other)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<SecretReference, A::Error> {
                SecretMap::deserialize(MapAccessDeserializer::new(map)).map(SecretReference::Map)
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for SecretReference {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SecretReference".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let name = json!({ "type": "string", "pattern": name_rules::NAME });
        json_schema!({
            "oneOf": [
                name,
                {
                    "type": "object",
                    "properties": {
                        "secret": name,
                        "file": {
                            "description": "If true, the value is in a file, and the variable has its path.",
                            "type": "boolean"
                        }
                    },
                    "required": ["secret"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

/// How often a step is retried when the platform fails.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::definition) struct Retry {
    /// The number of attempts, including the first.
    #[schemars(required, range(min = 1, max = limits::ATTEMPTS))]
    pub(in crate::definition) attempts: Option<Located<u64>>,

    /// How long to wait between two attempts, such as `10s`, which it is if not given; `1h` at most.
    #[schemars(regex(pattern = duration::PATTERN))]
    pub(in crate::definition) backoff: Option<Located<String>>,
}
