//! Tests of single items, without an engine.

mod backlog;
mod engine_config;
mod forge_error;
mod forge_text;
mod model_context;
mod registry_sync;
mod sweeper;
