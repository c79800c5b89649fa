//! Tests of the entrypoint program: exit codes, signals, orphans, silence.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod endings;
mod orphans;
mod signals;
mod silence;
mod supervised;
mod values;
