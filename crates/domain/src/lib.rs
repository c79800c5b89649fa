//! Greenroom's nouns, rules and state machines. Pure: nothing here reads a clock, draws a random number or does I/O.

pub mod definition;
pub mod event;
pub mod id;
pub mod member;
pub mod pipeline;
pub mod policy;
pub mod principal;
pub mod role;
pub mod slug;
pub mod text;
pub mod token;
