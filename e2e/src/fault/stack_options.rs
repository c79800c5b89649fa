//! The options of campaigns that run on the stack of the scenarios.

use std::path::PathBuf;

use clap::Args;

use crate::scenarios::Scenarios;

#[derive(Clone, Debug, Args)]
pub(crate) struct StackOptions {
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the folder with logs and data in .stack.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if omitted.
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// Path of the entrypoint, if it is elsewhere.
    #[arg(long)]
    entry: Option<PathBuf>,
    /// Path of the daemon, if it is elsewhere.
    #[arg(long)]
    daemon: Option<PathBuf>,
    /// Name of a planted bug, for a daemon that `cargo xtask fault planted` has built.
    #[arg(long)]
    pub(crate) planted: Option<String>,
}

impl StackOptions {
    /// Returns the settings of the stack: without limits, and with calls to servers on this machine.
    pub(crate) fn settings(&self) -> Scenarios {
        let (bin_dir, entry) = (self.bin_dir.clone(), self.entry.clone());
        let mut settings = Scenarios::alone(bin_dir, entry, self.keep, "warn".to_owned());
        settings.limits_off = true;
        settings.daemon = self.daemon.clone();
        let allow = ["issuer", "registry", "forge", "model"].map(|purpose| format!("{purpose}=127.0.0.0/8"));
        let mut variables = vec![("GREENROOM_OUTBOUND_ALLOW", allow.join(","))];
        variables.extend(self.planted.clone().map(|bug| ("GREENROOM_PLANTED", bug)));
        settings.server_variables.clone_from(&variables);
        settings.worker_variables = variables;
        settings
    }
}
