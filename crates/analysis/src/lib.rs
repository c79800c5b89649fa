//! Greenroom's failure analysis: which lines of a log show why a step failed, and what the failure is about.
//! This crate sees neither the store nor secrets.

mod fingerprint;
pub mod model;
pub mod reduce;
pub mod rules;

pub use fingerprint::{Fingerprint, fingerprint};
