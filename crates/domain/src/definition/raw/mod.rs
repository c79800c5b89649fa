//! The raw file: serde parses it, and schemars generates its JSON Schema. Editors show the doc comments of the
//! fields, so they are written for the author of a pipeline. Only the structure is checked here.

mod environment;
mod stage;
mod step;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

pub(super) use environment::{Deploy, Ephemeral, Force, Handover, Lasting, Lease, Queue};
pub(super) use stage::{Approval, ApprovalRule, Cache, Stage};
pub(super) use step::{Retry, SecretReference, Step};

use super::located::{Entries, Located};
use super::{limits, name_rules};

/// Environment variables.
pub(super) type Variables = Entries<Value>;

/// A pipeline: what runs, in which order, and where to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct File {
    /// The version of this format. Always 1.
    #[schemars(extend("const" = 1))]
    pub(super) version: Option<Located<u64>>,

    /// Environment variables for every step of the pipeline.
    #[schemars(extend("propertyNames" = {"pattern": name_rules::VARIABLE}, "maxProperties" = limits::ENTRIES))]
    pub(super) variables: Option<Variables>,

    /// Where stages run that don't define it themselves.
    pub(super) runner: Option<Located<Runner>>,

    /// How many deployments of this pipeline may run concurrently.
    #[schemars(range(min = 1, max = limits::CONCURRENCY))]
    pub(super) concurrency: Option<Located<u64>>,

    /// Environments that last, such as production, by name.
    #[schemars(extend("propertyNames" = {"pattern": name_rules::NAME}, "maxProperties" = limits::ENVIRONMENTS))]
    pub(super) environments: Option<Entries<Lasting>>,

    /// Environments that are claimed for a session and released, by name. A name that ends in `*` is a template: its
    /// environments come into being when they are first claimed.
    #[schemars(extend(
        "propertyNames" = {"pattern": name_rules::NAME_OR_TEMPLATE},
        "maxProperties" = limits::ENVIRONMENTS
    ))]
    pub(super) ephemeral_environments: Option<Entries<Ephemeral>>,

    /// Where fixes of failures are verified before their pull requests are opened.
    pub(super) fix: Option<Located<Fix>>,

    /// What the pipeline does, by key. Stages run side by side unless one needs another.
    #[schemars(required, extend(
        "propertyNames" = {"pattern": name_rules::NAME},
        "minProperties" = 1,
        "maxProperties" = limits::STAGES
    ))]
    pub(super) stages: Option<Entries<Stage>>,
}

/// The runners that take the work.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Runner {
    /// The name of a runner pool of the organization.
    #[schemars(required, regex(pattern = name_rules::NAME))]
    pub(super) pool: Option<Located<String>>,
}

/// How fixes are verified.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Fix {
    /// A fix claims any free ephemeral environment that has all of these labels.
    #[schemars(required, length(min = 1, max = limits::LABELS), inner(regex(pattern = name_rules::NAME)))]
    pub(super) labels: Option<Vec<Located<String>>>,
}

/// The value of a variable: text, a number, `true` or `false`. Kept as it is written.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Value(pub(crate) String);

impl JsonSchema for Value {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"], "maxLength": limits::TEXT_BYTES })
    }
}
