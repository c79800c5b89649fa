//! `cargo xtask sqlx prepare|check`: maintains .sqlx, PostgreSQL's description of each query, with which the
//! query macros compile without a database. Replaces sqlx's own command-line tool and needs only `psql` and a
//! server.
//!
//! The macros query a live database if SQLX_OFFLINE is false and DATABASE_URL is set, and then save each
//! description in SQLX_OFFLINE_DIR. Offline they read that folder, then the crate's .sqlx, then the
//! workspace's, which we use.

mod saved;
mod scratch;

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Subcommand;

use self::saved::SavedQueries;
use self::scratch::ScratchDatabase;
use crate::output;
use crate::workspace::{self, Workspace};

const STORE: &str = "crates/store";

#[derive(Clone, Copy, Subcommand)]
pub(crate) enum Action {
    /// Describe every query on a database and write .sqlx
    Prepare,
    /// Compare only: fail if .sqlx differs from what the database returns
    Check,
}

pub(crate) fn run(workspace: &Workspace, action: Action) -> anyhow::Result<()> {
    let server = env::var("DATABASE_URL").unwrap_or_default();
    ensure!(
        !server.is_empty(),
        "DATABASE_URL is not set. Give it a PostgreSQL server on which a scratch database may be made and dropped:\n\
         DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres cargo xtask sqlx prepare"
    );

    let described = describe_queries(workspace, &server)?;
    let folder = workspace.workspace_root.join(".sqlx");
    let changes = SavedQueries::read(&folder)?.changes_to(&described);
    match action {
        Action::Prepare => {
            described.write(&folder)?;
            output::print(format_args!(".sqlx contains {} queries: {}.", described.len(), changes.counts()))?;
        }
        Action::Check if changes.is_empty() => {
            output::print(format_args!("All {} queries of .sqlx match the database.", described.len()))?;
        }
        Action::Check => bail!(
            ".sqlx does not match the code and the migrations:\n{}Run `cargo xtask sqlx prepare` and commit .sqlx.",
            changes.list()
        ),
    }
    Ok(())
}

/// Compiles the store against a freshly migrated database and returns the queries that the macros saved.
fn describe_queries(workspace: &Workspace, server: &str) -> anyhow::Result<SavedQueries> {
    let root = &workspace.workspace_root;
    let scratch = ScratchDatabase::create(server)?;
    for migration in migrations(&root.join(STORE).join("migrations"))? {
        scratch.migrate(&migration)?;
    }

    let folder = workspace.target_directory.join(scratch.name());
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    touch(&root.join(STORE).join("src/lib.rs"))?;
    let compiled = workspace::run(
        workspace
            .cargo(&["check", "-p", "greenroom-store", "--all-targets"])
            .env("SQLX_OFFLINE", "false")
            .env("SQLX_OFFLINE_DIR", &folder)
            .env("DATABASE_URL", scratch.url()),
    );
    let saved = compiled
        .context("the store does not compile against its migrations")
        .and_then(|()| SavedQueries::read(&folder));
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    saved
}

/// Returns the up migrations, ordered by number as sqlx runs them.
fn migrations(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".up.sql") {
            let number: u64 = name
                .split('_')
                .next()
                .and_then(|number| number.parse().ok())
                .with_context(|| format!("{name} does not begin with a number and `_`"))?;
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Forces cargo to compile again: it does not track the environment variables that the macros read.
fn touch(path: &Path) -> anyhow::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a file's modification time, which cargo compares with its own clock"
    )]
    let now = std::time::SystemTime::now();
    File::options()
        .write(true)
        .open(path)
        .and_then(|file| file.set_modified(now))
        .with_context(|| format!("cannot touch {}", path.display()))
}
