//! The second wall between organizations: every query of a tenant's table filters by organization. The first
//! wall is the types. This one checks the SQL itself, as it was checked against the database (`.sqlx`), and that
//! `.sqlx` is up to date.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

mod checker;
mod saved;
mod source_queries;
mod system;
mod tokens;

use std::collections::BTreeMap;
use std::path::Path;

use checker::Checker;

/// Returns the names and texts of the files of `.sqlx`.
fn saved_files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.sqlx");
    std::fs::read_dir(folder)
        .expect("no .sqlx folder: run `cargo sqlx prepare` as described in CONTRIBUTING.md")
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

/// Returns all checked queries, with white space folded.
fn queries() -> Vec<String> {
    let mut queries: Vec<String> = saved_files()
        .iter()
        .map(|(_, text)| {
            let saved: serde_json::Value = serde_json::from_str(text).unwrap();
            fold(saved["query"].as_str().unwrap())
        })
        .collect();
    queries.sort();
    assert!(queries.len() > 30, "only {} queries were found", queries.len());
    queries
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_query_names_its_organization() {
    let checker = Checker::of_migrations();
    let system = system::queries();
    let mut unscoped: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for query in queries().into_iter().filter(|query| !system.contains(query)) {
        let missing = checker.unscoped(&query);
        if !missing.is_empty() {
            unscoped.insert(query, missing);
        }
    }
    assert!(
        unscoped.is_empty(),
        "these queries use a tenant's table without its organization. Add `organization_id = $n`, or, if the query \
         has no organization, move it to src/system/ and list it in this test:\n{unscoped:#?}"
    );
}

/// Tests the checker itself: it must detect every query from which one comparison of an organization is
/// removed.
#[test]
fn every_removed_organization_is_detected() {
    let checker = Checker::of_migrations();
    let system = system::queries();
    let (mut mutants, mut undetected) = (0, Vec::new());
    for query in queries().into_iter().filter(|query| !system.contains(query)) {
        for mutant in checker.without_one_organization(&query) {
            mutants += 1;
            if checker.unscoped(&mutant).is_empty() {
                undetected.push(mutant);
            }
        }
    }
    assert!(mutants > 40, "only {mutants} mutants were created");
    assert!(undetected.is_empty(), "a removed organization was not detected:\n{undetected:#?}");
}

/// The exceptions are listed by hand, used, and only in `src/system/`.
#[test]
fn exceptions_are_listed_and_live_in_system() {
    let (all, checker) = (queries(), Checker::of_migrations());
    let unscoped: Vec<&String> = all.iter().filter(|query| !checker.unscoped(query).is_empty()).collect();
    let (in_source, folder) = (source_queries::queries(), concat!(env!("CARGO_MANIFEST_DIR"), "/src/system"));
    for query in system::queries() {
        assert!(
            unscoped.contains(&&query),
            "listed as an exception, but it does not exist or needs none:\n{query}"
        );
        let mut places = in_source.iter().filter(|found| fold(&found.sql) == query);
        assert!(
            places.all(|place| place.path.starts_with(folder)),
            "an exception that is not in src/system/:\n{query}"
        );
    }
}

/// SQL that is not checked by the macros is not in `.sqlx`, so this test would miss it.
#[test]
fn all_sql_is_checked() {
    let mut unchecked = Vec::new();
    for path in system::sources("src") {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let plain = ["sqlx::query(", "sqlx::query_as(", "sqlx::query_scalar(", "QueryBuilder", "raw_sql"];
            // sqlx's own table, which does not exist when the queries are checked.
            let is_exempt = line.contains("_sqlx_migrations");
            if plain.iter().any(|call| line.contains(call)) && !is_exempt {
                unchecked.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert!(unchecked.is_empty(), "use the checked macros (`sqlx::query!` …) instead: {unchecked:?}");
}
