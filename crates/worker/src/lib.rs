//! Background work: the sequencer, the sweeper, housekeeping, the synchronization of step registries, the evidence of
//! failures, their explanations by models, fixes, and the relay to the engine. Every part is safe to run in several
//! daemons concurrently.

pub mod advancer;
pub mod backlog;
pub mod cleanup;
pub mod evidence;
pub mod fix;
pub mod forge;
pub mod health;
pub mod housekeeping;
pub mod installation;
mod lease_loop;
pub mod log_reader;
pub mod model;
pub mod objects;
pub mod registry_sync;
pub mod relay;
mod requester;
pub mod sequencer;
pub mod session_ending;
pub mod sweeper;
pub mod trace;
pub mod watchdog;

/// For the tests of this crate, which are in `tests/`. Nothing else may use it.
#[doc(hidden)]
pub mod internals {
    pub use crate::forge::text::{clean, encode, is_commit_id, is_revision};
    pub use crate::model::context::context;
    pub use crate::registry_sync::plan::plan;
}
