//! The options of the scenarios.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct Scenarios {
    /// Run only scenarios whose name contains this text. The option can be repeated.
    pub(super) names: Vec<String>,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(super) json: bool,
    /// Keep the stack's folder, with logs, data and the files of the steps.
    #[arg(long)]
    pub(super) keep: bool,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry. Default: the folder of this program.
    #[arg(long)]
    pub(crate) bin_dir: Option<PathBuf>,
    /// Path of greenroom-entry, if it is not in that folder.
    #[arg(long)]
    pub(crate) entry: Option<PathBuf>,
    /// Number of concurrent scenarios.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(super) parallel: u32,
    /// Length of the big log in MiB.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) log_mib: u64,
    /// Duration of a job's lease after a heartbeat.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u64).range(6..=600))]
    pub(crate) lease_seconds: u64,
    /// Keep logs, artifacts and caches in a real S3 server instead of a folder.
    #[arg(long)]
    pub(crate) s3: bool,
    /// Skip scenarios that need containers; they are reported as pending.
    #[arg(long)]
    pub(super) without_containers: bool,
    /// Also run scenarios that are marked as pending.
    #[arg(long)]
    pub(super) pending: bool,
    /// Number of runs of each scenario.
    #[arg(long, default_value_t = 1)]
    pub(super) repeat: u32,
    /// Whether the server has no limits per token, organization and address.
    #[arg(skip)]
    pub(crate) limits_off: bool,
    /// More settings of the server, as environment variables.
    #[arg(skip)]
    pub(crate) server_variables: Vec<(&'static str, String)>,
    /// More settings of the worker.
    #[arg(skip)]
    pub(crate) worker_variables: Vec<(&'static str, String)>,
    /// The daemon, if it is not beside the other programs.
    #[arg(skip)]
    pub(crate) daemon: Option<PathBuf>,
    /// How much server and worker log.
    #[arg(long = "log", env = "GREENROOM_LOG", default_value = "info")]
    pub(crate) log_level: String,
    #[arg(long, default_value = "e2e/scenarios", hide = true)]
    pub(super) folder: PathBuf,
}

impl Scenarios {
    /// Returns the options of a stack on which no scenario runs.
    pub(crate) fn alone(
        bin_dir: Option<PathBuf>,
        entry: Option<PathBuf>,
        keep: bool,
        log_level: String,
    ) -> Self {
        Self {
            names: Vec::new(),
            json: false,
            keep,
            bin_dir,
            entry,
            parallel: 1,
            log_mib: 1,
            lease_seconds: 30,
            s3: false,
            without_containers: false,
            pending: false,
            repeat: 1,
            limits_off: false,
            server_variables: Vec::new(),
            worker_variables: Vec::new(),
            daemon: None,
            log_level,
            folder: PathBuf::new(),
        }
    }
}
