//! Processor time as the kernel counts it: of a process, of PostgreSQL with all its children, of this
//! process, of the machine.

use std::fs;

use anyhow::Context;

/// Length of a tick of /proc; Linux reports 100 per second on every architecture.
const MICROS_PER_TICK: f64 = 10_000.0;

/// Processor time used until some moment, or between two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    ticks: u64,
}

struct Stat {
    parent: u32,
    own: u64,
    ended_children: u64,
}

impl Cpu {
    pub(crate) fn of_process(pid: u32) -> anyhow::Result<Self> {
        Ok(Self { ticks: stat(&pid.to_string())?.own })
    }

    /// Returns the time of PostgreSQL. A child that has ended is counted too: its time is added to the
    /// postmaster's.
    pub(crate) fn of_postgres(postmaster: u32) -> anyhow::Result<Self> {
        let root = stat(&postmaster.to_string())?;
        let mut ticks = root.own + root.ended_children;
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            // The time of a process that has ended since the folder was read is or will be the postmaster's.
            if name.bytes().all(|letter| letter.is_ascii_digit())
                && let Ok(child) = stat(&name)
                && child.parent == postmaster
            {
                ticks += child.own;
            }
        }
        Ok(Self { ticks })
    }

    pub(crate) fn own() -> anyhow::Result<Self> {
        Ok(Self { ticks: stat("self")?.own })
    }

    /// Returns the time of this process's children that have ended and were waited for.
    pub(crate) fn of_ended_children() -> anyhow::Result<Self> {
        Ok(Self { ticks: stat("self")?.ended_children })
    }

    /// Returns the time of everything on the machine.
    pub(crate) fn of_machine() -> anyhow::Result<Self> {
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().context("/proc/stat is empty")?;
        let columns: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; a guest's time is included in user.
        let ticks = columns.iter().take(8).enumerate().filter(|(at, _)| *at != 3 && *at != 4);
        Ok(Self { ticks: ticks.map(|(_, ticks)| ticks).sum() })
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self { ticks: self.ticks.saturating_sub(before.ticks) }
    }

    /// Returns the sum of this time and another one.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { ticks: self.ticks + other.ticks }
    }

    pub(crate) fn micros(self) -> f64 {
        self.ticks as f64 * MICROS_PER_TICK
    }
}

pub(crate) fn parent_of(pid: u32) -> anyhow::Result<u32> {
    Ok(stat(&pid.to_string())?.parent)
}

/// Returns the average number of runnable processes in the last minute.
pub(crate) fn machine_load() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .context("/proc/loadavg has an unknown form")
}

fn stat(process: &str) -> anyhow::Result<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name is in parentheses and may contain anything; the fields after it do not.
    let (_, rest) = text.rsplit_once(')').context("/proc/…/stat has an unknown form")?;
    let columns: Vec<&str> = rest.split_whitespace().collect();
    let column = |at: usize| {
        let number = columns.get(at).and_then(|word| word.parse::<u64>().ok());
        number.context("/proc/…/stat has an unknown form")
    };
    Ok(Stat {
        parent: u32::try_from(column(1)?)?,
        own: column(11)? + column(12)?,
        ended_children: column(13)? + column(14)?,
    })
}
