//! `cargo xtask sqlx prepare|check`: keeps .sqlx, from which the query macros know, without a database, what
//! PostgreSQL says of each query. Does what sqlx's own tool does, and needs only `psql` and a server.
//!
//! The macros ask a live database when SQLX_OFFLINE is false and DATABASE_URL is set, and then save each answer
//! in SQLX_OFFLINE_DIR. Offline they read the same folder, the crate's .sqlx, then the workspace's: ours.

mod saved;
mod scratch;

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Subcommand;

use self::saved::Saved;
use self::scratch::Scratch;
use crate::say;
use crate::workspace::{self, Workspace};

const STORE: &str = "crates/store";

#[derive(Clone, Copy, Subcommand)]
pub(crate) enum Action {
    /// Asks a database about every query and writes .sqlx
    Prepare,
    /// Only compares: fails if .sqlx is not what a database says
    Check,
}

pub(crate) fn run(workspace: &Workspace, action: Action) -> anyhow::Result<()> {
    let server = env::var("DATABASE_URL").unwrap_or_default();
    ensure!(
        !server.is_empty(),
        "DATABASE_URL is not set. Give it a PostgreSQL server on which a scratch database may be made and dropped:\n\
         DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres cargo xtask sqlx prepare"
    );

    let asked = ask(workspace, &server)?;
    let folder = workspace.workspace_root.join(".sqlx");
    let changes = Saved::read(&folder)?.changes_to(&asked);
    match action {
        Action::Prepare => {
            asked.write(&folder)?;
            say::answer(format_args!(".sqlx holds {} queries: {}.", asked.len(), changes.counted()))?;
        }
        Action::Check if changes.is_empty() => {
            say::answer(format_args!("All {} queries of .sqlx are as the database says.", asked.len()))?;
        }
        Action::Check => bail!(
            ".sqlx does not fit the code and the migrations:\n{}Run `cargo xtask sqlx prepare` and commit .sqlx.",
            changes.listed()
        ),
    }
    Ok(())
}

/// Compiles the store against a freshly migrated database and collects what the macros saved.
fn ask(workspace: &Workspace, server: &str) -> anyhow::Result<Saved> {
    let root = &workspace.workspace_root;
    let scratch = Scratch::create(server)?;
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
        .and_then(|()| Saved::read(&folder));
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    saved
}

/// The migrations upward, in the order of their numbers, as sqlx runs them.
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

/// Cargo does not know that the macros look at the environment, so it must be made to compile again.
fn touch(path: &Path) -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "a file's time, for cargo, which compares it with its own")]
    let now = std::time::SystemTime::now();
    File::options()
        .write(true)
        .open(path)
        .and_then(|file| file.set_modified(now))
        .with_context(|| format!("cannot touch {}", path.display()))
}
