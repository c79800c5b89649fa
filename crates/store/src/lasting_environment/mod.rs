//! Lasting environments, such as production: their work slot, what is live there, and who holds them.
//!
//! Locks are taken in this order: the rows of the environments by name, then the deployment's row.

mod deployer;
mod gate;
mod history;
mod hold;
mod read;
mod slot;

pub(crate) use gate::StartGate;
pub use history::HistoryRecord;
pub use hold::HoldOutcome;
pub use read::{HoldRecord, LastingFilter, LastingRecord, LiveRecord, SlotRecord, UserRecord};
