//! The API over HTTP: thin handlers, one file per noun, and in `rules` the extractors, middleware and
//! responses that they share.

mod browser_session;
mod cache;
mod cleanup;
mod definition_schema;
mod deployment;
mod deployment_stream;
mod docs;
mod environment;
mod environment_list;
mod environment_pool;
mod event;
mod give_up;
mod handover;
mod health;
mod id_token;
mod live_session;
mod log;
mod log_index;
mod log_search;
mod log_stream;
mod me;
mod member;
mod middleware;
mod oidc;
mod organization;
mod pipeline;
mod router;
mod rules;
mod runner;
mod runner_pool;
mod secret;
mod session;
mod session_wire;
mod sign_in;
mod sign_in_link;
mod summary;
mod token;
mod transfer;
mod version;
mod watch;

pub use self::health::operator_router;
pub use self::router::{document, router};
pub use crate::limits::Limits;
