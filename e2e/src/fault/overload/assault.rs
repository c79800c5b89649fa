//! The attacker's process, as the campaign sees it: started with a plan, watched by its samples, and ended.

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
/// The attack has reached its size when so many of a hundred connections are open or were refused.
const PERCENT_AT_SIZE: usize = 95;

pub(crate) struct Assault {
    program: Program,
    samples: PathBuf,
    sizes: BTreeMap<Attack, usize>,
    /// How many samples there were when the attack had reached its size.
    skipped: usize,
}

impl Assault {
    /// Starts it, and waits until it has reached its size, for as long as that may take.
    pub(crate) async fn start(plan: &Plan, folder: &Path, name: &str) -> anyhow::Result<Self> {
        let file = folder.join(format!("plan-{name}.json"));
        std::fs::write(&file, serde_json::to_string(plan)?)?;
        let log = folder.join("logs").join(format!("attacker-{name}.log"));
        // The attacker stands for other machines, which would not take processor time from the server.
        let program = Program::start("attacker", Path::new("nice"), log, |command| {
            command.args(["-n", "10"]);
            command.arg(std::env::current_exe().unwrap_or_else(|_| PathBuf::from("greenroom-e2e")));
            command.args(["fault", "attacker", "--plan"]).arg(&file);
        })?;
        let (samples, sizes) = (plan.samples.clone(), plan.sizes.clone());
        let mut assault = Self { program, samples, sizes, skipped: 0 };
        let began = Instant::now();
        while began.elapsed() < RAMP_TIMEOUT && assault.is_running() {
            let samples = assault.read();
            if samples.last().is_some_and(|sample| assault.is_at_size(sample)) {
                assault.skipped = samples.len();
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(assault)
    }

    /// Whether its process has not ended.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.program.end_seen(), Ok(None))
    }

    /// Ends it, which closes all of its connections. The samples since it had reached its size.
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
        // The last line may be written at this moment.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}
