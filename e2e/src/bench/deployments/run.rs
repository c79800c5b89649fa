//! One run of the comparison with bare Temporal.

use std::time::Duration;

use serde_json::json;

use super::Figures;
use crate::bench::median;

/// Number of warm-up deployments on either side: enough for every connection to have prepared every
/// statement.
pub(crate) const WARM_UP: usize = 100;

/// One run of one side.
pub(crate) struct Run {
    pub(crate) per_second: f64,
    /// Processor time per deployment including the warm-up, by program.
    pub(crate) cpu_millis: Figures,
    /// The share of the machine that other programs used.
    pub(crate) others_share: f64,
}

impl Run {
    /// Returns processor time as a share of the time of all processors.
    pub(crate) fn share(millis: f64, of: Duration) -> f64 {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        millis.max(0.0) / (of.as_secs_f64() * 1e3 * processors)
    }

    pub(crate) fn figures(runs: &[Self]) -> serde_json::Value {
        let rates: Vec<f64> = runs.iter().map(|run| run.per_second).collect();
        let mut cpu = Figures::new();
        for name in runs.first().map(|run| run.cpu_millis.keys()).into_iter().flatten() {
            let values = runs.iter().filter_map(|run| run.cpu_millis.get(name)?.as_f64());
            cpu.insert(name.clone(), json!(median(values.collect())));
        }
        json!({
            "deploymentsPerSecond": median(rates.clone()),
            "runs": rates,
            "cpuMillisPerDeployment": cpu,
            "othersShareOfMachine": median(runs.iter().map(|run| run.others_share).collect()),
        })
    }
}
