//! The options of the overload campaign.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::fault::overload::attack::Attack;

#[derive(Clone, Debug, Args)]
pub(crate) struct Overload {
    /// How large the attacks are. `full` also tries each attack alone; `small` is for CI.
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    pub(crate) scale: Scale,
    /// Only this attack; several are possible.
    #[arg(long, value_enum)]
    pub(crate) only: Vec<Attack>,
    /// How long everything at once lasts, in seconds: 60 if left out, 15 for `small`. Each attack alone lasts a third of it.
    #[arg(long, value_parser = clap::value_parser!(u64).range(3..=3_600))]
    pub(crate) seconds: Option<u64>,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the folder with logs, data and samples in .stack.
    #[arg(long)]
    pub(crate) keep: bool,
    /// The folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if left out.
    #[arg(long)]
    pub(crate) bin_dir: Option<PathBuf>,
    /// The entrypoint, if it is elsewhere.
    #[arg(long)]
    pub(crate) entry: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scale {
    Small,
    Full,
}

impl Overload {
    /// How long everything at once lasts.
    pub(crate) fn together(&self) -> Duration {
        let default = match self.scale {
            Scale::Small => 15,
            Scale::Full => 60,
        };
        Duration::from_secs(self.seconds.unwrap_or(default))
    }

    /// How long one attack alone lasts.
    pub(crate) fn alone(&self) -> Duration {
        self.together() / 3
    }

    /// How long the victim is measured before the first attack.
    pub(crate) const fn quiet(&self) -> Duration {
        match self.scale {
            Scale::Small => Duration::from_secs(8),
            Scale::Full => Duration::from_secs(20),
        }
    }

    /// The attacks of each phase: those that are named by `--only`, each alone; otherwise everything at once, and for
    /// `full` each one alone as well.
    pub(crate) fn phases(&self) -> Vec<Vec<Attack>> {
        let alone = |attacks: &[Attack]| attacks.iter().map(|attack| vec![*attack]).collect::<Vec<_>>();
        if !self.only.is_empty() {
            return alone(&self.only);
        }
        let mut phases = match self.scale {
            Scale::Small => Vec::new(),
            Scale::Full => alone(&Attack::ALL),
        };
        phases.push(Attack::ALL.to_vec());
        phases
    }
}
