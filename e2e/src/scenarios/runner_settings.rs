//! The settings of a scenario's runner.

use serde::Deserialize;

use crate::parts::runner::Backend;

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RunnerSettings {
    #[serde(default)]
    pub(crate) backend: Backend,
    #[serde(default = "one")]
    pub(crate) concurrency: u32,
    /// The name of the runner's pool; `default` if omitted.
    #[serde(default)]
    pub(crate) pool: Option<String>,
}

pub(crate) const fn one() -> u32 {
    1
}
