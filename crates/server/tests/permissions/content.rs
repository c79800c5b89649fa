//! The content of the database, to check that nothing has changed and that no secret is stored.

use std::fmt::Write;

use sqlx::{AssertSqlSafe, PgPool};

/// Columns that every request may write: when a token or a runner was last used.
const LAST_USE: &str = "{last_used_at,last_seen_at}";
/// Beginnings of the names of tables that background tasks write: the sequencer moves events from the intake
/// into the history, and the relay delivers wake-ups.
const BACKGROUND: [&str; 3] = ["public.event", "public.wakes", "public.engine_waits"];

/// Returns a hash of everything that a request could change, except the last use of tokens and whether an
/// event is in the intake or the history already; only the number of events counts. The tables are taken from
/// the database, so a new one is included.
pub async fn fingerprint(pool: &PgPool) -> String {
    let mut lines = vec![
        "select 'events ' || (select count(*) from event_intake) + (select count(*) from events)".to_owned(),
    ];
    for table in tables(pool).await {
        if !BACKGROUND.iter().any(|beginning| table.starts_with(beginning)) {
            lines.push(format!(
                "select '{table} ' || (to_jsonb(t) - '{LAST_USE}'::text[])::text from {table} t"
            ));
        }
    }
    // One statement, so that it reads one snapshot.
    let sql = format!(
        "select md5(string_agg(line, E'\\n' order by line)) from ({}) content (line)",
        lines.join(" union all ")
    );
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await.unwrap()
}

/// Every row of every table, as text.
pub async fn dump(pool: &PgPool) -> String {
    let mut text = String::new();
    for table in tables(pool).await {
        let sql = AssertSqlSafe(format!("select t::text from {table} t"));
        let rows: Vec<String> = sqlx::query_scalar(sql).fetch_all(pool).await.unwrap();
        for row in rows {
            writeln!(text, "{table} {row}").unwrap();
        }
    }
    text
}

async fn tables(pool: &PgPool) -> Vec<String> {
    let tables: Vec<String> = sqlx::query_scalar(
        "select format('%I.%I', table_schema, table_name) from information_schema.tables
         where table_schema not in ('pg_catalog', 'information_schema') order by 1",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    assert!(tables.iter().any(|table| table == "public.api_tokens"), "{tables:?}");
    tables
}

/// Returns the secrets that the text contains in any form: as it is, without its prefix, or as bytes.
pub fn traces_of<'a>(secrets: impl IntoIterator<Item = &'a str>, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for secret in secrets {
        let bare = secret.trim_start_matches("grn_").trim_start_matches("cookie:");
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
