//! Tests of single types. They are not in `src`, because cargo would compile the whole crate again for them.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod example;
mod open_enum;
mod secret;
mod session_deployment;
