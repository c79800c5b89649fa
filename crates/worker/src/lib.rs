//! Background work: the sequencer, the sweeper, housekeeping, the synchronization of step registries, the evidence of failures,
//! their explanations by models, fixes, the relay to the
//! engine and the engine's worker. Every part is safe to run in several daemons concurrently.

pub mod cleanup;
pub mod engine;
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
pub mod sequencer;
pub mod session_ending;
pub mod sweeper;
pub mod watchdog;
