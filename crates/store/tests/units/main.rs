//! Tests of single items, and of the texts of SQL and of migrations; none needs a database. They are not in `src`,
//! because cargo would compile the whole crate again for them.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod column_checks;
mod compute_limit;
mod deployment;
mod migrate;
mod status_writes;
