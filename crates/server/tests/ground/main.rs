//! The API's ground rules, tried over HTTP: a real server on a real port, and a database for each test.
#![expect(clippy::unwrap_used, reason = "a test may")]

#[path = "../support/proxy.rs"]
mod proxy;
#[path = "../support/mod.rs"]
mod support;

mod ask;
mod sse;
mod wire;

mod answers;
mod bodies;
mod console;
mod crowd;
mod database;
mod definitions;
mod drain;
mod extremes;
mod forged_tokens;
mod idempotency;
mod limits;
mod migrations;
mod openapi;
mod outage;
mod paging;
mod paths;
mod pipeline_events;
mod pipelines;
mod preconditions;
mod problems;
mod rate_limits;
mod rejected_tokens;
mod repositories;
mod runner_pools;
mod slow_bodies;
mod slow_clients;
mod stream;
mod stream_resume;
mod stream_rights;
mod totals;
mod unknown_events;
mod unread_responses;
