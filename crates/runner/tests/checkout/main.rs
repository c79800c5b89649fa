//! Checkouts from a real git server: `git http-backend` over HTTP.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "shared with the tests of jobs, which use all of it")]
mod support;

mod branches;
mod commits;
mod credentials;
mod git_server;
mod https;
mod jobs;
mod rejections;
