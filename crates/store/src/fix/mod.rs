//! Fixes of failures. A worker leases those that are due, and continues each by one transaction or one call of a forge
//! (`worker/fix`); `domain/fix` decides.

mod advance;
mod cancel;
mod claim;
mod create;
mod due;
mod end;
mod proof;
mod read;
mod write;

pub use self::cancel::CancelOutcome;
pub use self::create::{FixableFailure, NewFix};
pub use self::due::{DueFix, FIX_LEASE};
pub use self::proof::{FixProofs, ProofRecord};
pub use self::read::FixRecord;
