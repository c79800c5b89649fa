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
mod words;
mod yaml;

pub use condition::{Circumstances, holds};
pub use diagnostic::Diagnostic;
pub use limits::{DEFAULT_LEASE_SECONDS, DEFAULT_POOL, LONGEST_LEASE_SECONDS};
pub use model::{
    Approval, Cache, Definition, Environment, EnvironmentTemplate, EphemeralEnvironment, EphemeralSettings,
    ForceRule, Lease, Retry, Runner, Scalar, Stage, Step, StepReference, StepWork,
};
pub use nearest::nearest;
pub use schema::json_schema;
pub use words::is_cache_key;

/// Reads and checks a definition. A text that can't be read gives one diagnostic; one that can be read gives all of
/// its problems (the first hundred), in the order of the file.
pub fn parse(source: &str) -> Result<Definition, Vec<Diagnostic>> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let raw = yaml::read(source).map_err(|diagnostic| vec![diagnostic])?;
    check::check(&raw, source)
}
