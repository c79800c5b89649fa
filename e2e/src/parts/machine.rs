//! Kernel statistics of one process: memory, and processor time with a finer resolution than /proc/…/stat.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

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
    Ok(ThreadTimes::of(pid)?.0.values().map(|time| time.on_processor).sum())
}

/// What the scheduler has recorded of each live thread of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadTimes(HashMap<String, ThreadTime>);

/// In nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ThreadTime {
    on_processor: u64,
    /// The time in which the thread could have run, and waited for a processor.
    waited: u64,
}

impl ThreadTimes {
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let mut times = HashMap::new();
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = thread?;
            // A thread that has ended since the folder was read used almost no time.
            let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
            times.insert(thread.file_name().to_string_lossy().into_owned(), ThreadTime::read(&text));
        }
        Ok(Self(times))
    }

    /// Returns the time on a processor and the time that threads waited for one, since an earlier moment. Threads that
    /// have ended since then are left out.
    pub(crate) fn since(&self, earlier: &Self) -> (Duration, Duration) {
        let (mut on_processor, mut waited) = (0, 0);
        for (thread, time) in &self.0 {
            let before = earlier.0.get(thread).copied().unwrap_or_default();
            on_processor += time.on_processor.saturating_sub(before.on_processor);
            waited += time.waited.saturating_sub(before.waited);
        }
        (Duration::from_nanos(on_processor), Duration::from_nanos(waited))
    }
}

impl ThreadTime {
    fn read(schedstat: &str) -> Self {
        let mut columns = schedstat.split_whitespace().map(|column| column.parse().unwrap_or_default());
        Self { on_processor: columns.next().unwrap_or_default(), waited: columns.next().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: &[(&str, &str)]) -> ThreadTimes {
        ThreadTimes(of.iter().map(|(id, text)| ((*id).to_owned(), ThreadTime::read(text))).collect())
    }

    #[test]
    fn threads_that_began_later_are_counted_and_those_that_ended_are_not() {
        let before = times(&[("1", "1000 50 7"), ("2", "900 900 9")]);
        let after = times(&[("1", "1500 60 9"), ("3", "200 4 1")]);
        assert_eq!(after.since(&before), (Duration::from_nanos(700), Duration::from_nanos(14)));
    }

    #[test]
    fn a_process_that_runs_uses_the_processor() {
        let before = ThreadTimes::of(std::process::id()).unwrap();
        // The kernel updates the figures of a running thread at each tick.
        let uses_time = |_| !ThreadTimes::of(std::process::id()).unwrap().since(&before).0.is_zero();
        assert!((0..100_000).any(uses_time));
    }
}
