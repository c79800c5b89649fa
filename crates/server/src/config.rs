//! The daemon's settings: each is a flag, or the environment variable of the same name.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use greenroom_app::id_token::IdTokenSettings;
use greenroom_app::job::timing::JobTiming;
use greenroom_app::limits::LimitSettings;
use greenroom_engine::{EngineConfig, EngineTls, WorkerSettings};
use greenroom_keys::{KeySource, Keys};
use greenroom_outbound::{AllowEntry, AllowList, OutboundClient};
use greenroom_registry::RegistryReader;
use greenroom_worker::housekeeping::Retention;
use greenroom_worker::objects::Objects;

mod listen;

pub use self::listen::ListenConfig;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    Json,
    Text,
}

#[derive(Clone, Debug, Args)]
pub struct LogConfig {
    /// What to log: `error`, `warn`, `info`, `debug`, or a filter such as `info,greenroom_store=debug`.
    #[arg(long = "log", env = "GREENROOM_LOG", default_value = "info", global = true)]
    pub filter: String,
    /// The format of the log.
    #[arg(
        long = "log-format",
        env = "GREENROOM_LOG_FORMAT",
        value_enum,
        default_value = "text",
        global = true
    )]
    pub format: LogFormat,
}

#[derive(Clone, Debug, Args)]
pub struct DatabaseConfig {
    /// PostgreSQL 15 or newer: `postgres://user:password@host:port/database`, or `file:/path` of a file with that.
    #[arg(long, env = "GREENROOM_DATABASE_URL", hide_env_values = true, value_parser = database_url)]
    pub database_url: String,
}

/// Reads the database's address, which may be in a file.
fn database_url(text: &str) -> Result<String, String> {
    match text.strip_prefix("file:") {
        None => Ok(text.to_owned()),
        Some(path) => std::fs::read_to_string(path)
            .map(|url| url.trim().to_owned())
            .map_err(|error| format!("can't read {path}: {error}. It is a file with the database's address, which the daemon's user can read")),
    }
}

/// All settings of a server.
#[derive(Clone, Debug, Args)]
pub struct ServeConfig {
    #[command(flatten)]
    pub database: DatabaseConfig,
    #[command(flatten)]
    pub temporal: TemporalConfig,
    #[command(flatten)]
    pub jobs: JobConfig,
    #[command(flatten)]
    pub secrets: SecretsConfig,
    #[command(flatten)]
    pub listen: ListenConfig,
    #[command(flatten)]
    pub limits: LimitSettings,
    #[command(flatten)]
    pub operator: OperatorConfig,
}

/// Requests of the daemon to addresses that operators and users name.
#[derive(Clone, Debug, Default, Args)]
pub struct OutboundConfig {
    /// Destinations to which the daemon may send requests although they are not on the internet:
    /// `purpose=network:port@organization`, such as `forge=10.1.2.3/32:443@acme`. The purpose is `provider`, `issuer`,
    /// `registry`, `forge` or `model`. Port and organization can be left out. Can be repeated.
    #[arg(long, env = "GREENROOM_OUTBOUND_ALLOW", value_name = "ENTRY", value_delimiter = ',')]
    pub outbound_allow: Vec<AllowEntry>,
}

impl OutboundConfig {
    pub fn client(&self) -> OutboundClient {
        OutboundClient::new(self.allow_list())
    }

    /// Returns a reader of step registries, with the folder for temporary files of this machine.
    pub fn registry_reader(&self) -> RegistryReader {
        RegistryReader::new(self.allow_list(), std::env::temp_dir())
    }

    fn allow_list(&self) -> AllowList {
        AllowList::new(self.outbound_allow.iter().cloned())
    }

    /// Returns a warning for each entry that opens its network for every purpose.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.outbound_allow.iter().filter(|entry| entry.is_for_every_purpose()).map(|entry| {
            format!(
                "--outbound-allow {entry} opens this network for requests of every kind: name a purpose, a port and an \
                 organization, such as `forge=10.1.2.3/32:443@acme`"
            )
        })
    }
}

#[derive(Clone, Debug, Args)]
pub struct OperatorConfig {
    /// The address on which metrics and probes are served, for operators only.
    #[arg(long, env = "GREENROOM_METRICS_LISTEN")]
    pub metrics_listen: Option<SocketAddr>,
}

#[derive(Clone, Debug, Args)]
pub struct RetentionConfig {
    /// For how many days events are kept.
    #[arg(long, env = "GREENROOM_EVENT_RETENTION_DAYS", default_value_t = 400)]
    pub event_retention_days: i32,
    /// For how many days logs and artifacts are kept after their deployment has ended.
    #[arg(long, env = "GREENROOM_LOG_RETENTION_DAYS", default_value_t = 90, value_parser = clap::value_parser!(i32).range(1..))]
    pub log_retention_days: i32,
}

impl RetentionConfig {
    pub const fn retention(&self) -> Retention {
        Retention { events: self.event_retention_days, logs: self.log_retention_days }
    }
}

/// Temporal, which runs deployments. A daemon can start while it is unavailable.
#[derive(Clone, Debug, Args)]
pub struct TemporalConfig {
    /// Temporal's frontend: `host:port`.
    #[arg(long, env = "GREENROOM_TEMPORAL_ADDRESS", default_value = "127.0.0.1:7233")]
    pub temporal_address: String,
    #[arg(long, env = "GREENROOM_TEMPORAL_NAMESPACE", default_value = "default")]
    pub temporal_namespace: String,
    /// Use TLS for the connection to Temporal. Any of the settings below implies it.
    #[arg(long, env = "GREENROOM_TEMPORAL_TLS")]
    pub temporal_tls: bool,
    /// A PEM file with the certificate authorities to trust; the system's if left out.
    #[arg(long, env = "GREENROOM_TEMPORAL_TLS_CA")]
    pub temporal_tls_ca: Option<PathBuf>,
    /// The name in Temporal's certificate, if it differs from the host in the address.
    #[arg(long, env = "GREENROOM_TEMPORAL_TLS_SERVER_NAME")]
    pub temporal_tls_server_name: Option<String>,
    /// A PEM file with the client certificate.
    #[arg(long, env = "GREENROOM_TEMPORAL_TLS_CERT", requires = "temporal_tls_key")]
    pub temporal_tls_cert: Option<PathBuf>,
    /// A PEM file with the key of the client certificate.
    #[arg(long, env = "GREENROOM_TEMPORAL_TLS_KEY", requires = "temporal_tls_cert")]
    pub temporal_tls_key: Option<PathBuf>,
    /// An API key for Temporal Cloud.
    #[arg(long, env = "GREENROOM_TEMPORAL_API_KEY", hide_env_values = true)]
    pub temporal_api_key: Option<ApiKey>,
}

/// A secret: `Debug` does not print it.
#[derive(Clone)]
pub struct ApiKey(String);

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey")
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self(key)
    }
}

impl TemporalConfig {
    /// Reads the certificate files.
    pub fn engine(&self) -> anyhow::Result<EngineConfig> {
        let pem = |path: &Path| std::fs::read(path).with_context(|| format!("can't read {}", path.display()));
        let identity = match (&self.temporal_tls_cert, &self.temporal_tls_key) {
            (Some(certificate), Some(key)) => Some((pem(certificate)?, pem(key)?)),
            _ => None,
        };
        let tls = EngineTls {
            authority: self.temporal_tls_ca.as_deref().map(pem).transpose()?,
            server_name: self.temporal_tls_server_name.clone(),
            identity,
        };
        let uses_tls = self.temporal_tls
            || tls.authority.is_some()
            || tls.server_name.is_some()
            || tls.identity.is_some();
        Ok(EngineConfig {
            address: self.temporal_address.clone(),
            namespace: self.temporal_namespace.clone(),
            tls: uses_tls.then_some(tls),
            api_key: self.temporal_api_key.as_ref().map(|key| key.0.clone()),
        })
    }
}

/// The object store.
#[derive(Clone, Debug, Args)]
pub struct ObjectsConfig {
    /// Where logs, artifacts and caches are stored: `file:///folder` or `s3://bucket`. All servers and workers
    /// must use the same store.
    #[arg(long, env = "GREENROOM_OBJECTS", default_value = "file:///var/lib/greenroom/objects")]
    pub objects: String,
}

impl ObjectsConfig {
    pub fn open(&self) -> anyhow::Result<Objects> {
        Ok(Objects::open(&self.objects, std::env::vars())?)
    }
}

/// The lease of jobs, and their id tokens.
#[derive(Clone, Debug, Args)]
pub struct JobConfig {
    #[command(flatten)]
    pub objects: ObjectsConfig,
    /// The lease of a job: how many seconds it belongs to its runner after a heartbeat.
    #[arg(long, env = "GREENROOM_JOB_LEASE_SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(6..=600))]
    pub job_lease_seconds: u64,
    /// The issuer of id tokens, if relying parties can't reach this server: an https address without a slash at its
    /// end, where the files of `greenroomd admin oidc-documents` are served. The public address if left out.
    #[arg(long, env = "GREENROOM_ID_TOKEN_ISSUER", value_parser = id_token_issuer)]
    pub id_token_issuer: Option<String>,
    /// How many seconds an id token is valid.
    #[arg(long, env = "GREENROOM_ID_TOKEN_SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(10..=3600))]
    pub id_token_seconds: u64,
}

/// Reads the issuer of id tokens.
pub fn id_token_issuer(text: &str) -> Result<String, String> {
    let is_address = text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty());
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
    match is_address && is_plain && !text.ends_with('/') {
        true => Ok(text.to_owned()),
        false => Err("must be an https address without a query and without a slash at its end".to_owned()),
    }
}

impl JobConfig {
    pub fn id_tokens(&self) -> IdTokenSettings {
        let lifetime = Duration::from_secs(self.id_token_seconds);
        IdTokenSettings { issuer: self.id_token_issuer.clone(), lifetime }
    }

    /// The heartbeat interval is short enough that several heartbeats can be lost before the lease expires.
    pub fn timing(&self) -> JobTiming {
        let lease = Duration::from_secs(self.job_lease_seconds);
        JobTiming { lease, heartbeat: (lease / 12).max(Duration::from_secs(1)), ..JobTiming::default() }
    }
}

/// The master keys of secrets. Without them everything else works.
#[derive(Clone, Debug, Default, Args)]
pub struct SecretsConfig {
    /// A file with the master keys of secrets, which only this user can read: lines `id:base64`, the active key
    /// first. It is read again on SIGHUP. Without a key, secrets are not available.
    #[arg(long, env = "GREENROOM_SECRETS_KEY_FILE", conflicts_with = "secrets_key_command")]
    pub secrets_key_file: Option<PathBuf>,
    /// A shell command that prints the master keys of secrets, such as a call of a key service. It is run again
    /// on SIGHUP.
    #[arg(long, env = "GREENROOM_SECRETS_KEY_COMMAND")]
    pub secrets_key_command: Option<String>,
}

impl SecretsConfig {
    /// Reads the master keys.
    pub async fn keys(&self) -> anyhow::Result<Keys> {
        let file = self.secrets_key_file.clone().map(KeySource::File);
        let source = file.or_else(|| self.secrets_key_command.clone().map(KeySource::Command));
        Keys::load(source).await.context("can't load the master keys of secrets")
    }
}

#[derive(Clone, Copy, Debug, Args)]
pub struct WorkflowConfig {
    /// How many deployments this worker advances concurrently; it uses as many database connections for that.
    #[arg(long, env = "GREENROOM_WORKER_CONCURRENCY", default_value_t = 8)]
    pub worker_concurrency: u32,
    /// How many workflows of deployments this worker caches in memory.
    #[arg(long, env = "GREENROOM_WORKER_CACHED_WORKFLOWS", default_value_t = 500)]
    pub worker_cached_workflows: usize,
}

#[derive(Clone, Debug, Args)]
pub struct WorkConfig {
    #[command(flatten)]
    pub workflows: WorkflowConfig,
    #[command(flatten)]
    pub objects: ObjectsConfig,
    #[command(flatten)]
    pub outbound: OutboundConfig,
}

impl WorkflowConfig {
    /// `advances` is how many deployments are advanced concurrently.
    pub fn settings(self, advances: u32) -> WorkerSettings {
        WorkerSettings {
            concurrent_advances: advances as usize,
            cached_workflows: self.worker_cached_workflows,
            ..WorkerSettings::default()
        }
    }
}
