//! Greenroom's types, rules and state machines. Pure: this crate reads no clock, generates no random numbers
//! and does no I/O.

pub mod approval;
pub mod browser_session;
pub mod cache;
pub mod cleanup;
pub mod definition;
pub mod deployment;
pub mod environment;
pub mod event;
pub mod freeze;
pub mod group;
pub mod id;
pub mod id_token;
pub mod lease;
pub mod lock;
pub mod log_lines;
pub mod matching;
pub mod member;
pub mod output;
pub mod owner;
pub mod password;
pub mod pipeline;
pub mod pipeline_limit;
pub mod policy;
pub mod principal;
pub mod queue;
pub mod reported_text;
pub mod repository;
pub mod rights;
pub mod role;
pub mod role_grant;
pub mod runner;
pub mod runner_pool;
pub mod scope;
pub mod secret;
pub mod service_account;
pub mod session;
pub mod sign_in;
pub mod slug;
pub mod text;
pub mod text_enum;
pub mod token;
pub mod token_grant;
pub mod trust_policy;

pub mod work_slot;
