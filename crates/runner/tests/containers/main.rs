//! The container backend on a real engine: Podman, started by each test in a temporary folder. Requires
//! `apt-get install podman runc iptables busybox-static docker-registry`, and `cargo xtask entry` for the static entrypoint.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "shared with the tests of jobs, which use all of it")]
mod support;

mod engine;
mod image_store;
mod isolation;
mod lifecycle;
mod network;
mod output;
mod registry;
mod registry_steps;
mod secrets;
mod writable;
