//! PostgreSQL, a server, and a worker that may connect to 127.0.0.1 and no other address of this machine. The worker has an
//! `/etc/hosts` of its own, so that names can be made to resolve to anything, and a folder of its own for temporary files.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use reqwest::Method;
use serde_json::Value;

use crate::hostile::options::Hostile;
use crate::parts::api::{Api, ApiResponse};
use crate::parts::daemon::Daemon;
use crate::parts::folder::Folder;
use crate::parts::output::print_progress;
use crate::parts::ports;
use crate::parts::postgres::Postgres;
use crate::parts::programs::{admin, admin_json};
use crate::stack::LIMITS_OFF;

const ORGANIZATION: &str = "acme";
const HOSTS_VARIABLE: &str = "HOSTS_FILE";
/// Becomes the worker, in a mount namespace in which another file is `/etc/hosts`.
const WORKER: &str = r#"#!/bin/sh
test "$(id -u)" = 0 || user=--map-root-user
exec unshare --mount $user sh -c 'mount --bind "$HOSTS_FILE" /etc/hosts && exec "$0" "$@"' DAEMON "$@"
"#;

pub(super) struct HostileFixture {
    folder: Folder,
    postgres: Postgres,
    server: Daemon,
    worker: Daemon,
    api: Api,
    token: String,
}

impl HostileFixture {
    pub(super) async fn start(options: &Hostile) -> anyhow::Result<Self> {
        let daemon = match &options.daemon {
            Some(path) => path.canonicalize()?,
            None => std::env::current_exe()?.with_file_name("greenroomd"),
        };
        ensure!(daemon.is_file(), "{} is missing; `cargo xtask hostile` builds it", daemon.display());
        print_progress("starting PostgreSQL, server and worker");
        let folder = Folder::make("hostile", options.keep)?;
        let postgres = Postgres::make(&folder.path.join("postgres")).await?;
        let url = postgres.url();
        admin(&daemon, &url, &["migrate", "up"]).await?;
        let (hosts, temporary) = (hosts_file(&folder), temporary_folder(&folder));
        std::fs::create_dir_all(&temporary)?;
        let program = worker_program(&folder.path, &daemon)?;
        let port = ports::free()?;
        let variables = [
            ("GREENROOM_DATABASE_URL", url.clone()),
            ("GREENROOM_LISTEN", format!("127.0.0.1:{port}")),
            ("GREENROOM_OUTBOUND_ALLOW", "registry=127.0.0.1/32".to_owned()),
            ("GREENROOM_LOG", "info".to_owned()),
            (LIMITS_OFF.0, LIMITS_OFF.1.to_owned()),
            (HOSTS_VARIABLE, hosts.display().to_string()),
            ("TMPDIR", temporary.display().to_string()),
        ];
        let start = |role: &'static str, program: PathBuf| {
            let log = folder.path.join("logs").join(format!("{role}.log"));
            let mut daemon = Daemon::new(role, program, log, variables.to_vec())?;
            daemon.start().map(|()| daemon)
        };
        let mut server = start("serve", daemon.clone())?;
        let api = Api::new(format!("http://127.0.0.1:{port}/api/v1"))?;
        let owner = ["--owner-email", "owner@example.test", "--owner-name", "Owner"];
        let bootstrap = [&["admin", "bootstrap", "--slug", ORGANIZATION][..], &owner].concat();
        let made = admin_json(&daemon, &url, &bootstrap).await?;
        let token = made["token"].as_str().context("admin bootstrap printed no token")?.to_owned();
        server.ready().await?;
        std::fs::write(&hosts, "127.0.0.1 localhost\n")?;
        let mut worker = start("worker", program)?;
        worker.ready().await?;
        Ok(Self { folder, postgres, server, worker, api, token })
    }

    /// The worker's `/etc/hosts`. It has to be written in place.
    pub(super) fn hosts(&self) -> PathBuf {
        hosts_file(&self.folder)
    }

    pub(super) fn worker(&self) -> anyhow::Result<u32> {
        self.worker.pid()
    }

    /// Returns what the worker has logged.
    pub(super) fn worker_log(&self) -> anyhow::Result<String> {
        Ok(std::fs::read_to_string(self.folder.path.join("logs").join("worker.log"))?)
    }

    /// Returns how many temporary files of the worker there are.
    pub(super) fn temporary_files(&self) -> anyhow::Result<usize> {
        Ok(std::fs::read_dir(temporary_folder(&self.folder))?.count())
    }

    pub(super) async fn call(
        &self,
        method: Method,
        below: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<ApiResponse> {
        self.api.call(method, &path(below), &self.token, body).await
    }

    /// Returns the record of a call that has to succeed.
    pub(super) async fn call_ok(
        &self,
        method: Method,
        below: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        self.api.call_ok(method, &path(below), &self.token, body).await
    }

    pub(super) async fn get(&self, below: &str) -> anyhow::Result<Value> {
        self.api.get(&path(below), &self.token).await
    }

    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        self.worker.end().await?;
        self.server.end().await?;
        self.postgres.stop().await
    }
}

fn path(below: &str) -> String {
    format!("/organizations/{ORGANIZATION}{below}")
}

fn hosts_file(folder: &Folder) -> PathBuf {
    folder.path.join("hosts")
}

fn temporary_folder(folder: &Folder) -> PathBuf {
    folder.path.join("temporary")
}

fn worker_program(folder: &Path, daemon: &Path) -> anyhow::Result<PathBuf> {
    let program = folder.join("worker");
    std::fs::write(&program, WORKER.replace("DAEMON", &format!("'{}'", daemon.display())))?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    Ok(program)
}
