//! The content of the database, to check that nothing has changed and that no secret is stored.

use std::fmt::Write;

use sqlx::{AssertSqlSafe, PgPool};

/// Returns a hash of everything that a request could change, except the last use of tokens and whether an
/// event is in the intake or the history already; only the number of events counts.
pub async fn fingerprint(pool: &PgPool) -> String {
    // One statement, so that it reads one snapshot.
    let sql = "select md5(string_agg(line, E'\\n' order by line)) from (
            select 'organization ' || o::text from organizations o
            union all select 'total ' || t::text from organization_totals t
            union all select 'user ' || u::text from users u
            union all select 'membership ' || m::text from memberships m
            union all select 'token ' || (to_jsonb(t) - 'last_used_at')::text from api_tokens t
            union all select 'kept ' || k::text from idempotency_keys k
            union all select 'pipeline ' || p::text from pipelines p
            union all select 'version ' || v::text from pipeline_versions v
            union all select 'environment ' || e::text from environments e
            union all select 'session ' || s::text from sessions s
            union all select 'deployment ' || d::text from deployments d
            union all select 'events ' || (select count(*) from event_intake) + (select count(*) from events)
        ) content (line)";
    sqlx::query_scalar(sql).fetch_one(pool).await.unwrap()
}

/// Every row of every table, as text.
pub async fn dump(pool: &PgPool) -> String {
    let tables: Vec<String> = sqlx::query_scalar(
        "select format('%I.%I', table_schema, table_name) from information_schema.tables
         where table_schema not in ('pg_catalog', 'information_schema') order by 1",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    assert!(tables.iter().any(|table| table == "public.api_tokens"), "{tables:?}");
    let mut text = String::new();
    for table in tables {
        let sql = AssertSqlSafe(format!("select t::text from {table} t"));
        let rows: Vec<String> = sqlx::query_scalar(sql).fetch_all(pool).await.unwrap();
        for row in rows {
            writeln!(text, "{table} {row}").unwrap();
        }
    }
    text
}

/// Returns the secrets that the text contains in any form: as it is, without its prefix, or as bytes.
pub fn traces_of<'a>(secrets: impl IntoIterator<Item = &'a str>, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for secret in secrets {
        let bare = secret.trim_start_matches("grn_");
        let hex = bare.bytes().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        });
        if text.contains(bare) || text.contains(&hex) {
            found.push(secret.to_owned());
        }
    }
    found
}
