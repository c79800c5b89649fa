//! Tests of what the store does for deployments without a database.

mod final_statuses;
mod list;
mod planning;
mod room;
