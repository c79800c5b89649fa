//! What is decided about the lasting environments of a deployment before it is advanced.

use std::collections::BTreeMap;

use greenroom_domain::deployment::GateDecision;

/// Whether stages may begin in lasting environments, by the environments' names.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    pub(crate) gates: BTreeMap<String, GateDecision>,
    /// The same without regard to freezes.
    pub(crate) gates_without_freezes: BTreeMap<String, GateDecision>,
}
