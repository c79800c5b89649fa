//! What the kernel says of one process: memory, and processor time finer than /proc/…/stat counts it.

use std::fs;

use anyhow::Context;

const KIB_PER_MIB: f64 = 1024.0;

pub(crate) struct Memory {
    pub(crate) resident_mib: f64,
    /// The most since it began, or since it was last told to forget.
    pub(crate) peak_mib: f64,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let figure = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
            kib.map(|kib| kib / KIB_PER_MIB).with_context(|| format!("/proc/{pid}/status says no {name}"))
        };
        Ok(Self { resident_mib: figure("VmRSS:")?, peak_mib: figure("VmHWM:")? })
    }

    /// From here on the peak is a new one. Where the kernel does not let us, it stays the peak of all that was.
    pub(crate) fn forget_peak(pid: u32) {
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
}

/// Of all its threads that live.
pub(crate) fn nanoseconds_on_processor(pid: u32) -> anyhow::Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // One that has ended since the folder was read did next to nothing.
        let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        sum += text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
    }
    Ok(sum)
}
