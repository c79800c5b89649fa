//! Permissions and how soon a change of them takes effect: every operation × every kind of caller, the rules
//! of tokens and members, and attempts to bypass them.
#![expect(clippy::unwrap_used, reason = "a test may")]

#[path = "../support/mod.rs"]
mod support;

mod audit;
mod bodies;
mod canary;
mod changes;
mod content;
mod fixture;
mod headers;
mod identities;
mod limited;
mod matrix;
mod members;
mod migration;
mod operations;
mod owners;
mod path_tricks;
mod paths;
mod people;
mod raw_http;
mod response;
mod revocation;
mod row;
mod row_locks;
mod scopes;
mod streams;
mod targets;
mod token_family;
mod tokens;
