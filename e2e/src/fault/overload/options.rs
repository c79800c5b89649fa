//! The options of the overload campaign.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::fault::overload::alternation::PAIRS;
use crate::fault::overload::attack::Attack;
pub(crate) use crate::fault::overload::scale::Scale;

/// In a shorter window the victim reads too little for a 95th percentile.
const MIN_WINDOW: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, Args)]
pub(crate) struct Overload {
    /// Size of the attacks. `full` also runs each attack alone; `small` is for CI.
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    pub(crate) scale: Scale,
    /// Only this attack; repeatable.
    #[arg(long, value_enum)]
    pub(crate) only: Vec<Attack>,
    /// Duration of all attacks together, in seconds, divided into six windows: 60 if omitted, 24 for `small`. The windows
    /// of each attack alone are a third as long, but not shorter than three seconds. Each has a quiet window of its length.
    #[arg(long, value_parser = clap::value_parser!(u64).range(18..=3_600))]
    pub(crate) seconds: Option<u64>,
    /// Seed for the order of quiet and attack; random if omitted.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Make the ratio of latencies a violation too, for a release build on a machine with nothing else to do.
    #[arg(long)]
    pub(crate) gate_latency: bool,
    /// Turn off the server's limits, to see that the attack is found.
    #[arg(long)]
    pub(crate) without_limits: bool,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the folder with logs, data and samples in .stack.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if omitted.
    #[arg(long)]
    pub(crate) bin_dir: Option<PathBuf>,
    /// Path of the entrypoint, if it is elsewhere.
    #[arg(long)]
    pub(crate) entry: Option<PathBuf>,
}

impl Overload {
    /// Returns how long all attacks together last.
    pub(crate) fn together(&self) -> Duration {
        let default = match self.scale {
            Scale::Small => 24,
            Scale::Full => 60,
        };
        Duration::from_secs(self.seconds.unwrap_or(default))
    }

    /// Returns how long each window of a phase with these attacks lasts.
    pub(crate) fn window(&self, attacks: &[Attack]) -> Duration {
        let window = self.together() / PAIRS;
        if attacks.len() > 1 { window } else { (window / 3).max(MIN_WINDOW) }
    }

    /// Returns the attacks of each phase: those that are named by `--only`, each alone; otherwise all
    /// together, and for `full` each one alone as well.
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
