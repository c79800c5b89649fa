//! The container backend on a real engine: Podman, started by the tests themselves in a folder of their own. Installs
//! nothing: `apt-get install podman runc iptables busybox-static`, and `cargo xtask entry` for the static entrypoint.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "shared with the tests of jobs, which use all of it")]
mod support;

mod engine;
mod isolation;
mod life;
mod network;
mod output;
mod writable;
