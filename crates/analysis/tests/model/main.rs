//! Models that are slow, broken, lying or obedient to an attacker, behind real HTTP on a loopback address, reached by
//! the client that the product uses.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod canaries;
mod failures;
mod fixture;
mod injections;
mod protocols;
mod server;
