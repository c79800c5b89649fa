//! Pipeline definition, version 1: YAML text in, a checked `Definition` or a list of diagnostics out.
//!
//! The way through: `yaml` reads the text within the limits into the `raw` structs, which mirror the file and carry
//! line and column; `check` turns them into the `model` and collects everything that is wrong.

mod check;
mod condition;
mod diagnostic;
mod duration;
mod limits;
mod located;
mod lookup;
mod model;
mod nearest;
mod outline;
mod raw;
mod schema;
mod syntax;
mod url;
mod warning;
mod words;
mod yaml;

pub use condition::{Circumstances, Expired, Limit, NoValue, holds};
pub use diagnostic::Diagnostic;
pub use limits::{
    CONDITION_STACK_BYTES, CONDITION_TIME, DEFAULT_HANDOVER_GRACE_SECONDS, DEFAULT_LEASE_SECONDS,
    DEFAULT_POOL, HANDOVER_GRACE_SECONDS, LONGEST_LEASE_SECONDS, NO_ENVIRONMENT,
};
pub use model::{
    Approval, Cache, Definition, Environment, EnvironmentTemplate, EphemeralEnvironment, EphemeralSettings,
    ForceReason, ForceRule, HandoverRule, Lease, Only, Retry, Runner, Scalar, Stage, Step, StepReference,
    StepWork,
};
pub use nearest::nearest;
pub use schema::json_schema;
pub use warning::Warning;
pub use words::is_cache_key;

/// Reads and checks a definition. A text that can't be read gives one diagnostic; one that can be read gives all of
/// its problems (the first hundred), in the order of the file.
pub fn parse(source: &str) -> Result<Definition, Vec<Diagnostic>> {
    parse_with_warnings(source).map(|(definition, _)| definition)
}

/// The same, with what is allowed and probably not meant.
pub fn parse_with_warnings(source: &str) -> Result<(Definition, Vec<Warning>), Vec<Diagnostic>> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let raw = yaml::read(source).map_err(|diagnostic| vec![diagnostic])?;
    let definition = check::check(&raw, source)?;
    let warnings = warning::warnings(&raw, &definition);
    Ok((definition, warnings))
}
