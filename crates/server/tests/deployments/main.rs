//! Deployments from the API's and a runner's side, without the engine: what it would ask, the tests ask in its place. That
//! the engine asks at the right time is tried in `greenroom-worker` and in the scenarios.
#![expect(clippy::unwrap_used, reason = "a test may")]

#[path = "../support/mod.rs"]
mod support;

mod actors;
mod asks;
mod branches;
mod cache_zones;
mod caches;
mod checkouts;
mod cleanup;
mod concurrency;
mod conditions;
mod downloads;
mod environments;
mod give_up;
mod live;
mod log_tails;
mod logs;
mod overdue;
mod pools;
mod reports;
mod reserved;
mod retention;
mod rights;
mod runs;
mod uploads;
mod watchdog;
mod yard;
