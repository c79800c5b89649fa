//! Kernel statistics of one process: memory, and processor time with a finer resolution than /proc/…/stat.

use std::fs;

use anyhow::Context;

const KIB_PER_MIB: f64 = 1024.0;

pub(crate) struct Memory {
    pub(crate) resident_mib: f64,
    /// The peak since the process started, or since the peak was last reset.
    pub(crate) peak_mib: f64,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let figure = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
            kib.map(|kib| kib / KIB_PER_MIB).with_context(|| format!("/proc/{pid}/status has no {name}"))
        };
        Ok(Self { resident_mib: figure("VmRSS:")?, peak_mib: figure("VmHWM:")? })
    }

    /// Resets the peak. If the kernel does not permit that, the peak since the start remains.
    pub(crate) fn reset_peak(pid: u32) {
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
}

/// The processor time of all its live threads.
pub(crate) fn nanoseconds_on_processor(pid: u32) -> anyhow::Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread that has ended since the folder was read used almost no time.
        let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        sum +=
            text.split_whitespace().next().and_then(|column| column.parse::<u64>().ok()).unwrap_or_default();
    }
    Ok(sum)
}
