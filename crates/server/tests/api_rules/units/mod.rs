//! Tests of single items that need neither a server nor a database.

mod body;
mod config;
mod connection_budget;
mod cookie;
mod docs;
mod metrics;
mod paced_body;
mod prefer;
mod problem;
mod range;
mod request_origin;
mod security_headers;
mod several;
mod write_timeout;
