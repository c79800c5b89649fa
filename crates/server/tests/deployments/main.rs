//! Deployments as the API and runners see them, without the engine: the tests advance deployments in its
//! place. The tests of `greenroom-worker` and the scenarios cover that the engine advances them at the right
//! time.
#![expect(clippy::unwrap_used, reason = "a test may")]

#[path = "../support/mod.rs"]
mod support;

mod action_requests;
mod actors;
mod analyses;
mod approval_people;
mod approval_voters;
mod approvals;
mod backlog;
mod branches;
mod cache_zones;
mod caches;
mod checkout_credentials;
mod checkouts;
mod cleanup;
mod concurrency;
mod conditions;
mod deploy_rules;
mod deployment_stream;
mod downloads;
mod environment_holds;
mod environments;
mod evidence;
mod evidence_fixture;
mod evidence_workers;
mod examples;
mod explanations;
mod filters;
mod fixes;
mod fixture;
mod give_up;
mod id_tokens;
mod lasting_environment_reads;
mod lasting_environments;
mod live;
mod log_index;
mod log_lines;
mod log_search;
mod log_tails;
mod logs;
mod overdue;
mod pools;
mod reports;
mod reserved;
mod retention;
mod retry_latest;
mod rights;
mod runners;
mod running_evidence;
mod runs;
mod secrets;
mod step_archives;
mod step_locks;
mod step_order;
mod uploads;
mod verify;
mod watchdog;
mod web_urls;
mod whole_events;
