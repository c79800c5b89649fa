//! Greenroom's nouns, rules and state machines. Pure: nothing here reads a clock, draws a random number or does I/O.

pub mod cache;
pub mod definition;
pub mod deployment;
pub mod environment;
pub mod event;
pub mod id;
pub mod lease;
pub mod lock;
pub mod member;
pub mod output;
pub mod pipeline;
pub mod policy;
pub mod principal;
pub mod queue;
pub mod reported_text;
pub mod repository;
pub mod rights;
pub mod role;
pub mod runner_pool;
pub mod session;
pub mod slug;
pub mod text;
pub mod token;
pub mod word;
pub mod work_slot;
