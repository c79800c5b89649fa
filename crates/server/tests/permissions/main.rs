//! Who may do what, and how soon a change of it holds: every operation × everybody who might ask, the tokens' rules, the
//! members' rules, and attempts to get around them.
#![expect(clippy::unwrap_used, reason = "a test may")]

#[path = "../support/mod.rs"]
mod support;

mod answer;
mod audit;
mod canary;
mod content;
mod gate;
mod headers;
mod limited;
mod matrix;
mod members;
mod migration;
mod operations;
mod owners;
mod path_tricks;
mod people;
mod promptness;
mod raw_http;
mod scopes;
mod streams;
mod token_family;
mod tokens;
mod world;
