//! The rules that hold for every operation of the API, tested over HTTP, with a server and a database for
//! each test.
#![expect(clippy::unwrap_used, reason = "a test may")]

#[path = "../support/proxy.rs"]
mod proxy;
#[path = "../support/mod.rs"]
mod support;

mod requests;
mod sse;
mod wire;

mod analysis_settings;
mod bodies;
mod compression;
mod concurrent_writers;
mod console;
mod database;
mod database_roles;
mod definitions;
mod document;
mod document_examples;
mod drain;
mod enumerations;
mod extremes;
mod forge_credentials;
mod forged_tokens;
mod forges;
mod freezes;
mod grant_endings;
mod grants;
mod groups;
mod handlers;
mod idempotency;
mod limits;
mod migrations;
mod openapi;
mod outage;
mod paging;
mod paths;
mod person_limits;
mod pipeline_events;
mod pipelines;
mod preconditions;
mod problems;
mod protection;
mod rate_limits;
mod registry_credentials;
mod registry_steps;
mod registry_sync;
mod rejected_tokens;
mod repositories;
mod responses;
mod runner_pools;
mod secrets;
mod service_accounts;
mod slow_bodies;
mod slow_clients;
mod step_registries;
mod stream;
mod stream_resume;
mod stream_rights;
mod tls;
mod totals;
mod undeclared_query;
mod units;
mod unknown_events;
mod unread_responses;
