//! The attacker's process from the campaign's side: started with a plan, monitored through its samples, and
//! ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::fault::overload::attack::{Attack, Unit};
use crate::fault::overload::sample::{Plan, Sample};
use crate::parts::program::Program;

/// How long the attack may take to reach its size.
const RAMP_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const END_TIMEOUT: Duration = Duration::from_secs(4);
/// The attack has reached its size when this percentage of its connections is open or was refused.
const PERCENT_AT_SIZE: usize = 95;

pub(crate) struct AttackerProcess {
    program: Program,
    samples: PathBuf,
    sizes: BTreeMap<Attack, usize>,
    /// How many samples there were when the attack had reached its size.
    skipped: usize,
}

impl AttackerProcess {
    /// Starts the attacker and waits until the attack has reached its size or the timeout has passed.
    pub(crate) async fn start(plan: &Plan, folder: &Path, name: &str) -> anyhow::Result<Self> {
        let file = folder.join(format!("plan-{name}.json"));
        std::fs::write(&file, serde_json::to_string(plan)?)?;
        let log = folder.join("logs").join(format!("attacker-{name}.log"));
        // The attacker represents other machines, which would not take processor time from the server.
        let program = Program::start("attacker", Path::new("nice"), log, |command| {
            command.args(["-n", "10"]);
            command.arg(std::env::current_exe().unwrap_or_else(|_| PathBuf::from("greenroom-e2e")));
            command.args(["fault", "attacker", "--plan"]).arg(&file);
        })?;
        let (samples, sizes) = (plan.samples.clone(), plan.sizes.clone());
        let mut attacker = Self { program, samples, sizes, skipped: 0 };
        let began = Instant::now();
        while began.elapsed() < RAMP_TIMEOUT && attacker.is_running() {
            let samples = attacker.read();
            if samples.last().is_some_and(|sample| attacker.is_at_size(sample)) {
                attacker.skipped = samples.len();
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(attacker)
    }

    /// Returns whether its process has not ended.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.program.exit_status(), Ok(None))
    }

    /// Ends the process, which closes all of its connections. Returns the samples since the attack had
    /// reached its size.
    pub(crate) async fn end(mut self) -> anyhow::Result<Vec<Sample>> {
        self.program.end(END_TIMEOUT).await?;
        Ok(self.read().into_iter().skip(self.skipped).collect())
    }

    fn is_at_size(&self, sample: &Sample) -> bool {
        self.sizes.iter().all(|(attack, size)| {
            let Some(tally) = sample.attacks.get(attack) else { return false };
            match attack.unit() {
                Unit::Connections => tally.at_work() * 100 >= size * PERCENT_AT_SIZE,
                Unit::RequestsPerSecond => tally.attempts > 0,
            }
        })
    }

    fn read(&self) -> Vec<Sample> {
        let text = std::fs::read_to_string(&self.samples).unwrap_or_default();
        // The last line may be incomplete.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}
