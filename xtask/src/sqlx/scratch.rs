//! A scratch database for one run, managed with `psql` and dropped at the end, also after an error.
//! Only an interrupted run (Ctrl-C) leaves it behind; its name begins with `greenroom_sqlx_`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::output;
use crate::workspace;

pub(super) struct ScratchDatabase {
    server: String,
    name: String,
    url: String,
}

impl ScratchDatabase {
    pub(super) fn create(server: &str) -> anyhow::Result<Self> {
        let name = run_sql(server, "select 'greenroom_sqlx_' || replace(gen_random_uuid()::text, '-', '')")
            .context(
            "psql (the PostgreSQL client) must be installed, and DATABASE_URL must be reachable",
        )?;
        let url = with_database(server, &name)?;
        run_sql(server, &format!("create database {name} template template0"))
            .context("the user of DATABASE_URL must be allowed to make a database")?;
        Ok(ScratchDatabase { server: server.to_owned(), name, url })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Runs one migration as sqlx does: in a transaction, unless the file starts with `-- no-transaction`.
    pub(super) fn migrate(&self, file: &Path) -> anyhow::Result<()> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut command = psql(&self.url);
        if !text.starts_with("-- no-transaction") {
            command.arg("-1");
        }
        command.arg("-f").arg(file);
        workspace::output(&mut command).map(drop).with_context(|| format!("the migration {}", file.display()))
    }
}

impl Drop for ScratchDatabase {
    fn drop(&mut self) {
        if let Err(error) =
            run_sql(&self.server, &format!("drop database if exists {} with (force)", self.name))
        {
            output::progress(format_args!("cannot drop the scratch database {}: {error:#}", self.name));
        }
    }
}

fn run_sql(url: &str, sql: &str) -> anyhow::Result<String> {
    let printed = workspace::output(psql(url).args(["-c", sql]))?;
    Ok(printed.trim().to_owned())
}

fn psql(url: &str) -> Command {
    let mut command = Command::new("psql");
    // No start-up file, no notices, unformatted values; stop at the first error.
    command
        .args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url])
        .env("PGOPTIONS", "-c client_min_messages=warning");
    command
}

/// Returns the URL of another database on the same server with the same user.
fn with_database(url: &str, name: &str) -> anyhow::Result<String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        bail!("DATABASE_URL must be a URL: postgres://user@host:port/database");
    };
    let (place, options) =
        rest.split_once('?').map_or((rest, String::new()), |(place, options)| (place, format!("?{options}")));
    let server = place.split('/').next().unwrap_or_default();
    Ok(format!("{scheme}://{server}/{name}{options}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_database_changes_only_the_database() {
        for (url, expected) in [
            ("postgres://me:secret@host:5432/prod", "postgres://me:secret@host:5432/new"),
            ("postgres://host", "postgres://host/new"),
            ("postgres://host/?sslmode=require", "postgres://host/new?sslmode=require"),
            ("postgres:///prod?host=/run/postgresql", "postgres:///new?host=/run/postgresql"),
        ] {
            assert_eq!(with_database(url, "new").unwrap(), expected);
        }
        assert!(with_database("host=localhost dbname=prod", "new").is_err());
    }
}
