//! What the engine runs: a workflow per deployment, and the contract of the activities that it uses. A workflow waits,
//! dispatches and asks again; it decides nothing and does no I/O, and waits only by the engine's means.

mod alarm;
pub mod contract;
pub mod deployment;
mod id_text;
mod jobs;
pub mod names;
mod pause;

pub use crate::contract::{Advanced, AdvancedJob, RunStage, Subject};
pub use crate::deployment::DeploymentWorkflow;
