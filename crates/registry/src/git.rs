//! Calls `git`, always in the same environment, for one registry.

use std::path::PathBuf;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::Instant;

use crate::bounds::Bounds;
use crate::error::RegistryError;
use crate::failure::{GitFailure, explain};
use crate::program::{ProcessLimits, RunError, run};
use crate::source::Source;

/// The memory of one process, without what it maps from files. It holds a list of tags, or two versions of a file. Two
/// processes that connect, one of which is at its limit, stay below 64 MiB together.
const MAX_DATA_BYTES: u64 = 40 << 20;
const MAX_CPU_SECONDS: u64 = 30;
/// Variables of this program's environment: the certificate authorities that the operator trusts.
const FORWARDED_VARIABLES: [&str; 3] = ["SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"];
const USERNAME_VARIABLE: &str = "GREENROOM_REGISTRY_USERNAME";
const PASSWORD_VARIABLE: &str = "GREENROOM_REGISTRY_PASSWORD";
/// Prints the credential when git requests one. It is expanded by the shell that git starts, and `printf` is a part of
/// that shell, so that the credential is in no argument.
const CREDENTIAL_HELPER: &str = concat!(
    r#"!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "#,
    r#""$GREENROOM_REGISTRY_USERNAME" "$GREENROOM_REGISTRY_PASSWORD"; }; f"#
);
const SETTINGS: [&str; 34] = [
    "core.hooksPath=/dev/null",
    "core.askPass=",
    "core.fsmonitor=false",
    "core.logAllRefUpdates=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "credential.helper=",
    "protocol.allow=never",
    "protocol.version=2",
    // The target of a redirect has not been checked. This also disables alternates of the first HTTP protocol.
    "http.followRedirects=false",
    "http.proxy=",
    "http.version=HTTP/1.1",
    "http.sslVerify=true",
    "http.emptyAuth=false",
    "http.lowSpeedLimit=1000",
    "transfer.fsckObjects=true",
    "transfer.bundleURI=false",
    "fetch.fsckObjects=true",
    // Always keep a pack: the limit of a file's size is then a limit of the download.
    "transfer.unpackLimit=1",
    "fetch.unpackLimit=1",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "submodule.recurse=false",
    "promisor.acceptFromServer=none",
    "gc.auto=0",
    "maintenance.auto=false",
    // Larger files are never in memory.
    "core.bigFileThreshold=512k",
    "core.deltaBaseCacheLimit=8m",
    "core.packedGitWindowSize=1m",
    "core.packedGitLimit=16m",
    "core.maxTreeDepth=64",
    "pack.threads=1",
    "index.threads=1",
    "advice.detachedHead=false",
];

pub(crate) struct Git<'a> {
    pub(crate) source: &'a Source,
    pub(crate) bounds: &'a Bounds,
    /// The value of `http.curloptResolve`.
    pub(crate) pin: Option<String>,
    /// An empty folder, or a bare repository.
    pub(crate) folder: PathBuf,
    pub(crate) deadline: Instant,
}

/// One call of git.
pub(crate) struct Call<'a> {
    pub(crate) arguments: &'a [&'a str],
    pub(crate) input: &'a [u8],
    pub(crate) max_output_bytes: usize,
}

impl Git<'_> {
    /// Calls git for something in the repository that has been fetched: no protocol is allowed.
    pub(crate) async fn read(&self, call: Call<'_>) -> Result<Vec<u8>, GitFailure> {
        let command = self.command(&[], call.arguments);
        self.run(command, call).await
    }

    /// Calls git for something that connects to the registry.
    pub(crate) async fn transfer(&self, call: Call<'_>) -> Result<Vec<u8>, GitFailure> {
        let mut settings = vec![
            format!("protocol.{}.allow=always", self.source.scheme()),
            format!("http.lowSpeedTime={}", whole_seconds(self.bounds.low_speed_timeout)),
        ];
        settings.extend(self.pin.as_ref().map(|pin| format!("http.curloptResolve={pin}")));
        if self.source.credential().is_some() {
            settings.push(format!("credential.{}.helper={CREDENTIAL_HELPER}", self.source.origin()));
        }
        let mut command = self.command(&settings, call.arguments);
        if let Some(credential) = self.source.credential() {
            command.env(USERNAME_VARIABLE, credential.username());
            command.env(PASSWORD_VARIABLE, credential.password());
        }
        for name in FORWARDED_VARIABLES {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        self.run(command, call).await
    }

    async fn run(&self, command: Command, call: Call<'_>) -> Result<Vec<u8>, GitFailure> {
        let output = match run(command, call.input, call.max_output_bytes, self.deadline).await {
            Ok(output) => output,
            Err(RunError::TooMuchOutput) => return Err(GitFailure::TooMuchOutput),
            Err(RunError::Timeout) => return Err(RegistryError::Timeout(self.bounds.timeout).into()),
            Err(RunError::Start(_)) => return Err(RegistryError::Program.into()),
        };
        if output.status.success() {
            return Ok(output.stdout);
        }
        let verb = call.arguments.first().copied().unwrap_or_default();
        Err(explain(verb, output.status, &output.stderr, self.source, self.bounds))
    }

    fn command(&self, settings: &[String], arguments: &[&str]) -> Command {
        let limits = ProcessLimits {
            data_bytes: MAX_DATA_BYTES,
            file_bytes: self.bounds.max_pack_bytes,
            cpu_seconds: MAX_CPU_SECONDS,
        };
        let mut command = limits.command("git");
        command
            // The HTTP library reads `.netrc` there.
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            // One arena of memory: every further one reserves more than a process may have.
            .env("MALLOC_ARENA_MAX", "1")
            // Do not search parent folders for a repository.
            .env("GIT_CEILING_DIRECTORIES", self.folder.parent().unwrap_or(&self.folder));
        for setting in SETTINGS.into_iter().chain(settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command.args(arguments).current_dir(&self.folder);
        command
    }
}

/// git has no smaller unit, and 0 would disable the limit.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().max(1)
}
