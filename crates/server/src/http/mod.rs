//! The API over HTTP: thin handlers, one file per noun, and the ground rules that hold for all of them.

mod answer;
mod body;
mod definition_schema;
mod docs;
mod edge;
mod environment;
mod environment_pool;
mod event;
mod health;
mod idempotency;
mod me;
mod member;
mod mutation;
mod not_modified;
mod openapi;
mod organization;
mod page;
mod path;
mod permit;
mod pipeline;
mod precondition;
mod problem;
mod query;
mod request_id;
mod router;
mod session;
mod session_wire;
mod stream;
mod token;
mod watch;

pub use self::edge::Limits;
pub use self::health::operator_router;
pub use self::openapi::document;
pub use self::router::router;
