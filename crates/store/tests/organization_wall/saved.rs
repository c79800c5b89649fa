//! The files of `.sqlx` belong to the queries in the code, and contain what PostgreSQL states about them after all
//! migrations. It is what `cargo sqlx prepare` writes, without compiling anything.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, Executor, PgPool, SqlSafeStr};

use crate::{saved_files, source_queries};

const RENEW: &str = "renew .sqlx as described in CONTRIBUTING.md (Saved queries) and commit it";

/// A file, as sqlx writes it.
#[derive(Serialize)]
struct SavedQuery<'a, Description> {
    db_name: &'a str,
    query: &'a str,
    describe: Description,
    hash: String,
}

fn hash(sql: &str) -> String {
    Sha256::digest(sql).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn file_name(sql: &str) -> String {
    format!("query-{}.json", hash(sql))
}

/// A build fails without the file of a query, but not because of one that nothing uses.
#[test]
fn each_query_has_a_file_and_each_file_a_query() {
    let mut saved: BTreeMap<String, String> = saved_files().into_iter().collect();
    let in_source: BTreeMap<String, String> =
        source_queries::queries().into_iter().map(|query| (file_name(&query.sql), query.sql)).collect();
    let missing: Vec<&String> =
        in_source.iter().filter(|(name, _)| !saved.contains_key(*name)).map(|(_, sql)| sql).collect();
    assert!(missing.is_empty(), "no file for {} queries: {RENEW}\n{missing:#?}", missing.len());
    saved.retain(|name, _| !in_source.contains_key(name));
    assert!(saved.is_empty(), "no query for {} files: {RENEW}\n{:#?}", saved.len(), saved.keys());
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn each_file_contains_the_description_of_its_query(pool: PgPool) {
    let mut connection = pool.acquire().await.unwrap();
    // As sqlx's macros do: whether a column of an outer join can be null is read from the plan for any parameters.
    connection.execute("set plan_cache_mode = 'force_generic_plan'").await.unwrap();
    let mut differences = Vec::new();
    for (name, text) in saved_files() {
        let saved: serde_json::Value = serde_json::from_str(&text).unwrap();
        let query = saved["query"].as_str().unwrap();
        assert_eq!(name, file_name(query), "the name contains the hash of another query");
        let expected = match connection.describe(AssertSqlSafe(query).into_sql_str()).await {
            Ok(describe) => {
                let described = SavedQuery { db_name: "PostgreSQL", query, describe, hash: hash(query) };
                serde_json::to_string_pretty(&described).unwrap() + "\n"
            }
            Err(error) => error.to_string(),
        };
        if expected != text {
            differences.push(format!("{name}: {}\nfor {query}", first_difference(&text, &expected)));
        }
    }
    let count = differences.len();
    assert!(differences.is_empty(), "{count} files differ: {RENEW}\n\n{}", differences.join("\n\n"));
}

fn first_difference(saved: &str, expected: &str) -> String {
    let (mut old, mut new) = (saved.lines(), expected.lines());
    for number in 1.. {
        let (old, new) = (old.next(), new.next());
        if old != new || old.is_none() {
            let or_end = |line: Option<&str>| line.map_or("(its end)", str::trim).to_owned();
            return format!("line {number} is {}, not {}", or_end(old), or_end(new));
        }
    }
    String::new()
}
