//! Pipeline definition, version 1: YAML text in, a checked `Definition` or a list of diagnostics out.
//!
//! The path of a definition: `yaml` parses the text within the limits into the `raw` structs, which mirror
//! the file and have line and column; `check` converts them to the `model` and collects all problems.

mod check;
mod condition;
pub(crate) mod diagnostic;
mod duration;
pub(crate) mod limits;
pub(crate) mod located;
mod lookup;
mod model;
pub(crate) mod name_rules;
mod nearest;
mod outline;
mod protection;
mod raw;
mod schema;
mod step_reference;
mod syntax;
mod url;
mod uses;
pub(crate) mod values;
mod warning;
pub(crate) mod yaml;

use std::collections::BTreeMap;

pub use condition::{ConditionContext, ConditionError, Expired, Limit, evaluate_condition, uses_branch};
pub use diagnostic::Diagnostic;
use diagnostic::Document;
pub(crate) use diagnostic::quote;
pub use limits::{
    CONDITION_STACK_BYTES, CONDITION_TIME, DEFAULT_APPROVAL_SECONDS, DEFAULT_HANDOVER_GRACE_SECONDS,
    DEFAULT_LEASE_SECONDS, DEFAULT_MAX_STAY_SECONDS, DEFAULT_POOL, HANDOVER_GRACE_SECONDS, MAX_LEASE_SECONDS,
    MAX_STAY_SECONDS, NO_ENVIRONMENT,
};
pub use model::{
    Approval, ApprovalRule, ApprovalRules, Cache, Definition, DeployRule, Environment, EnvironmentTemplate,
    EphemeralEnvironment, EphemeralSettings, ForceReason, ForceRule, HandoverRule, Lease, LockedManifest,
    LockedSteps, Only, OverrideRole, QueueRule, Retry, Runner, Stage, Step, StepSecret, StepWork,
};
pub use name_rules::is_cache_key;
pub(crate) use name_rules::is_name;
pub use nearest::nearest;
pub use protection::{DEFAULT_FORCE_ROLE, Weakened, weakens};
pub(crate) use raw::Value as RawValue;
pub use schema::json_schema;
pub use step_reference::{Scalar, StepReference};
pub use uses::FindManifest;
pub use warning::{StagePlace, Warning};

/// Parses and checks a definition. For a text that can't be parsed it returns one diagnostic, otherwise all
/// problems (at most a hundred), in the order of the file.
pub fn parse(source: &str) -> Result<Definition, Vec<Diagnostic>> {
    parse_with_warnings(source).map(|parsed| parsed.definition)
}

/// A valid definition, with remarks on its text.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub definition: Definition,
    pub warnings: Vec<Warning>,
    /// Where the stages are, by their keys.
    pub stage_places: BTreeMap<String, StagePlace>,
}

/// Like [`parse`], and returns warnings about what is allowed but probably not intended.
pub fn parse_with_warnings(source: &str) -> Result<Parsed, Vec<Diagnostic>> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let raw = yaml::read(source, Document::Definition).map_err(|diagnostic| vec![diagnostic])?;
    let definition = check::check(&raw, source)?;
    let warnings = warning::warnings(&raw, &definition);
    let stage_places = warning::stage_places(&raw);
    Ok(Parsed { definition, warnings, stage_places })
}
