//! Settings: each is a flag or the environment variable of the same name.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Parser, ValueEnum};
use greenroom_traces::TraceSettings;
use url::{Host, Url};

use crate::backend::User;
use crate::backend::container::{Isolation, Ulimit};
use crate::checkout::{Access, Cidr, Protocols};

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    Json,
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendKind {
    /// Runs steps in containers, through the Docker API.
    Container,
    /// Runs steps as processes of this machine, without isolation.
    Process,
    /// Simulates steps, for benchmarks.
    Dummy,
}

/// With commit and date in a packaged build.
pub const VERSION: &str = match option_env!("GREENROOM_LONG_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

#[derive(Clone, Debug, Parser)]
#[command(name = "greenroom-runner", version = VERSION, about = "Runs the jobs of Greenroom's pipelines")]
pub struct Config {
    /// The address of the API, including `/api/v1`.
    #[arg(long, env = "GREENROOM_URL")]
    pub url: String,
    /// Allows a plain `http://` address beyond this machine, although tokens and secrets can be read on the way.
    #[arg(long, env = "GREENROOM_RUNNER_PLAIN_HTTP", alias = "allow-plain-http")]
    pub plain_http: bool,
    /// The runner's token, `grr_…`. It is visible in the list of processes; prefer a file.
    #[arg(
        long,
        env = "GREENROOM_RUNNER_TOKEN",
        hide_env_values = true,
        required_unless_present = "token_file"
    )]
    pub token: Option<String>,
    /// A file that contains the runner's token.
    #[arg(long, env = "GREENROOM_RUNNER_TOKEN_FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    /// The name in the labels of this runner's containers and networks; the host name by default.
    #[arg(long, env = "GREENROOM_RUNNER_NAME")]
    pub name: Option<String>,
    /// The number of slots: how many jobs may run concurrently.
    #[arg(long, env = "GREENROOM_RUNNER_CONCURRENCY", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub concurrency: u32,
    /// How steps are run.
    #[arg(long, env = "GREENROOM_RUNNER_BACKEND", value_enum, default_value = "container")]
    pub backend: BackendKind,
    /// The address of the container engine: `unix://…` or `tcp://…`.
    #[arg(long, env = "DOCKER_HOST", default_value = "unix:///var/run/docker.sock")]
    pub docker_host: String,
    /// The folder for jobs. Each runner needs its own.
    #[arg(long, env = "GREENROOM_RUNNER_WORK_DIR", default_value = "/var/lib/greenroom-runner")]
    pub work_dir: PathBuf,
    /// The path of the static entrypoint; by default `greenroom-entry` in the folder of this program.
    #[arg(long, env = "GREENROOM_RUNNER_ENTRY")]
    pub entry: Option<PathBuf>,
    /// For how many seconds running jobs may continue after SIGTERM.
    #[arg(long, env = "GREENROOM_RUNNER_DRAIN_SECONDS", default_value_t = 300)]
    pub drain_seconds: u64,
    /// Allows repositories on this machine's disk. For tests only.
    #[arg(long, env = "GREENROOM_RUNNER_ALLOW_FILE_REPOSITORIES", hide = true)]
    pub allow_file_repositories: bool,
    /// Networks that checkouts may reach although they belong to this machine, its link, or a metadata
    /// service, such as `127.0.0.0/8`, separated by commas.
    #[arg(
        long = "checkout-allow",
        env = "GREENROOM_RUNNER_CHECKOUT_ALLOW",
        value_delimiter = ',',
        value_name = "CIDR"
    )]
    pub checkout_allow: Vec<Cidr>,
    #[command(flatten)]
    pub limits: LimitConfig,
    #[command(flatten)]
    pub log: LogConfig,
    #[command(flatten)]
    pub traces: TraceSettings,
}

/// Resource limits of a step in a container.
#[derive(Clone, Debug, Args)]
pub struct LimitConfig {
    /// The memory limit of a step, in MiB.
    #[arg(long, env = "GREENROOM_RUNNER_MEMORY_MIB", default_value_t = 4096, value_parser = clap::value_parser!(i64).range(16..=1_048_576))]
    pub memory_mib: i64,
    /// The CPU limit of a step, in CPUs; fractions are allowed.
    #[arg(long, env = "GREENROOM_RUNNER_CPUS", default_value_t = 2.0)]
    pub cpus: f64,
    /// The maximum number of processes and threads of a step.
    #[arg(long, env = "GREENROOM_RUNNER_PIDS", default_value_t = 2048, value_parser = clap::value_parser!(i64).range(16..=4_194_304))]
    pub pids: i64,
    /// The size of a step's /tmp, in MiB. It counts towards the memory limit.
    #[arg(long, env = "GREENROOM_RUNNER_TMP_MIB", default_value_t = 1024, value_parser = clap::value_parser!(i64).range(1..=1_048_576))]
    pub tmp_mib: i64,
    /// Limits of each process, such as `nofile=4096:4096`, separated by commas.
    #[arg(long = "ulimit", env = "GREENROOM_RUNNER_ULIMITS", value_delimiter = ',')]
    pub ulimits: Vec<Ulimit>,
    /// The numeric user and group of steps, such as `1000:1000`; the image's user by default.
    #[arg(long = "user", env = "GREENROOM_RUNNER_USER")]
    pub user: Option<User>,
}

#[derive(Clone, Debug, Args)]
pub struct LogConfig {
    /// The log level, `error`, `warn`, `info` or `debug`, or a filter such as `info,greenroom_runner=debug`.
    #[arg(long = "log", env = "GREENROOM_LOG", default_value = "info")]
    pub filter: String,
    /// The log format.
    #[arg(long = "log-format", env = "GREENROOM_LOG_FORMAT", value_enum, default_value = "text")]
    pub format: LogFormat,
}

impl Config {
    pub fn token(&self) -> anyhow::Result<String> {
        match (&self.token, &self.token_file) {
            (Some(token), _) => Ok(token.clone()),
            (None, Some(file)) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("could not read the token file {}", file.display()))?;
                Ok(text.trim().to_owned())
            }
            (None, None) => anyhow::bail!("no token: set GREENROOM_RUNNER_TOKEN or --token-file"),
        }
    }

    /// Rejects an address with which tokens and secrets would leave this machine without encryption.
    pub fn check_encryption(&self) -> anyhow::Result<()> {
        if self.plain_http || !self.leaves_machine_unencrypted() {
            return Ok(());
        }
        anyhow::bail!(
            "--url is plain HTTP to another machine: tokens and secrets would be sent without encryption. \
             Either use https://, or set --plain-http in a network that no other party can read"
        )
    }

    /// Returns whether requests leave this machine over plain HTTP. The address is parsed as the client does.
    pub fn leaves_machine_unencrypted(&self) -> bool {
        let Ok(url) = Url::parse(&self.url) else { return false };
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        url.scheme() != "https" && !is_loopback
    }

    pub fn name(&self) -> anyhow::Result<String> {
        match &self.name {
            Some(name) => Ok(name.clone()),
            None => {
                let name = nix::unistd::gethostname().context("could not read the host name: set --name")?;
                Ok(name.to_string_lossy().into_owned())
            }
        }
    }

    /// Returns what checkouts may reach.
    pub fn access(&self) -> Access {
        let protocols =
            if self.allow_file_repositories { Protocols::RemoteAndFiles } else { Protocols::Remote };
        Access { protocols, allow: self.checkout_allow.clone() }
    }

    pub fn entry(&self) -> anyhow::Result<PathBuf> {
        let entry = match &self.entry {
            Some(entry) => entry.clone(),
            None => {
                let own =
                    std::env::current_exe().context("could not find this program's path: set --entry")?;
                own.parent().unwrap_or(Path::new("/")).join("greenroom-entry")
            }
        };
        entry
            .canonicalize()
            .with_context(|| format!("there is no entrypoint at {}: set --entry", entry.display()))
    }

    pub fn isolation(&self) -> Isolation {
        const MIB: i64 = 1024 * 1024;
        let limits = &self.limits;
        Isolation {
            memory_bytes: limits.memory_mib * MIB,
            cpu_thousandths: (limits.cpus * 1000.0).round().max(10.0) as i64,
            pids: limits.pids,
            tmp_bytes: limits.tmp_mib * MIB,
            ulimits: limits.ulimits.clone(),
            user: limits.user,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Config, clap::Error> {
        let line = format!("greenroom-runner --url http://127.0.0.1/api/v1 {line}");
        Config::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn exactly_one_source_of_the_token_is_required() {
        assert!(parse("").is_err());
        assert!(parse("--token a --token-file b").is_err());
        assert_eq!(parse("--token a").unwrap().token().unwrap(), "a");
    }

    #[test]
    fn plain_http_beyond_this_machine_is_rejected_unless_it_is_allowed() {
        for (url, is_rejected) in [
            ("https://greenroom.test/api/v1", false),
            ("http://127.0.0.1:8080/api/v1", false),
            ("http://[::1]:8080/api/v1", false),
            ("http://localhost/api/v1", false),
            ("http://greenroom.test/api/v1", true),
            ("HTTP://greenroom.test/api/v1", true),
            ("http://10.0.0.1:8080/api/v1", true),
            ("http://127.0.0.1@greenroom.test/api/v1", true),
            ("http://localhost:80@greenroom.test/api/v1", true),
            ("http://localhost.greenroom.test/api/v1", true),
        ] {
            let config = Config { url: url.to_owned(), ..parse("--token a").unwrap() };
            assert_eq!(config.check_encryption().is_err(), is_rejected, "{url}");
            for allowed in ["--token a --plain-http", "--token a --allow-plain-http"] {
                let config = Config { url: url.to_owned(), ..parse(allowed).unwrap() };
                assert!(config.check_encryption().is_ok(), "{url}");
            }
        }
    }

    #[test]
    fn limits_are_converted_to_the_units_of_the_engine() {
        let config = parse("--token a --cpus 0.5 --memory-mib 64 --ulimit nofile=10,nproc=20:30").unwrap();
        let isolation = config.isolation();
        assert_eq!((isolation.cpu_thousandths, isolation.memory_bytes), (500, 64 * 1024 * 1024));
        assert_eq!(isolation.ulimits, ["nofile=10".parse().unwrap(), "nproc=20:30".parse().unwrap()]);
    }

    #[test]
    fn invalid_values_are_rejected() {
        for invalid in ["--concurrency 0", "--user root", "--ulimit nofile", "--backend vm", "--memory-mib 1"]
        {
            assert!(parse(&format!("--token a {invalid}")).is_err(), "{invalid}");
        }
    }
}
