//! How much memory the worker needs in addition, and the programs that it runs.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use tokio::task::JoinSet;

use crate::parts::machine::Memory;

const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);
const KIB_PER_MIB: f64 = 1024.0;

/// Measures from its creation on. The kernel records the worker's own peak. Of the processes below it, the sum of their
/// peaks is sampled: a process that lives for less than 5 ms is not seen.
pub(super) struct MemoryMeter {
    worker: u32,
    before_mib: f64,
    programs_kib: Arc<AtomicU64>,
    _sampling: JoinSet<()>,
}

impl MemoryMeter {
    pub(super) fn start(worker: u32) -> anyhow::Result<Self> {
        fs::write(format!("/proc/{worker}/clear_refs"), "5").context("the peak can't be reset")?;
        let before_mib = Memory::of(worker)?.resident_mib;
        let own = fs::read_link(format!("/proc/{worker}/exe"))?;
        let programs_kib = Arc::<AtomicU64>::default();
        let peak = Arc::clone(&programs_kib);
        let mut sampling = JoinSet::new();
        sampling.spawn(async move {
            loop {
                let kib = descendants(worker).into_iter().filter_map(|pid| peak_kib(pid, &own)).sum();
                peak.fetch_max(kib, Ordering::Relaxed);
                tokio::time::sleep(SAMPLE_INTERVAL).await;
            }
        });
        Ok(Self { worker, before_mib, programs_kib, _sampling: sampling })
    }

    /// Returns the growth of the worker, and the peak of all of its programs together. Their sum is an upper bound of the
    /// growth, because they need not be at the same moment.
    pub(super) fn growth_mib(&self) -> anyhow::Result<(f64, f64)> {
        let worker = Memory::of(self.worker)?.peak_mib - self.before_mib;
        let programs = self.programs_kib.load(Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "it is far below 2^52")]
        let programs = programs as f64 / KIB_PER_MIB;
        Ok((worker.max(0.0), programs))
    }
}

/// Returns the processes below one, whichever of its threads has started them.
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for thread in threads {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            found.push(child);
            found.extend(descendants(child));
        }
    }
    found
}

/// Returns the peak resident set of a process. `None` if it has ended, or between fork and exec, when it still has the
/// memory of the worker.
fn peak_kib(pid: u32, worker: &PathBuf) -> Option<u64> {
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    if program == *worker {
        return None;
    }
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
