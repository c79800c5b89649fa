//! What all handlers have in common: extractors, middleware, and the form of responses and of the OpenAPI
//! document. Nothing here imports a handler.

pub mod body;
pub mod buffered_body;
pub mod class;
pub mod command;
pub mod cookie;
pub mod download;
pub mod dry_run;
pub mod examples;
pub mod idempotency;
pub mod identity;
pub mod not_modified;
pub mod openapi;
pub mod paced_body;
pub mod page;
pub mod path;
pub mod permit;
pub mod pipeline_limit;
pub mod precondition;
pub mod prefer;
pub mod problem;
pub mod problem_responses;
pub mod query;
pub mod range;
pub mod record_response;
pub mod rejected_upload;
pub mod request_id;
pub mod request_origin;
pub mod request_slot;
pub mod response_examples;
pub mod schema;
pub mod security_headers;
pub mod several;
pub mod sign_in_request;
pub mod stream;
