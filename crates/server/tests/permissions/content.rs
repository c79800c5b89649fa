//! The content of the database, to check that no secret is stored.

use std::fmt::Write;

use sqlx::{AssertSqlSafe, PgPool};

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
