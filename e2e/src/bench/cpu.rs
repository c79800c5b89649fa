//! Processor time, as the kernel counts it: of a process, of PostgreSQL with all its children, of ourselves, of the machine.

use std::fs;

use anyhow::Context;

/// In what /proc counts; Linux says 100 a second on every architecture.
const MICROS_PER_TICK: f64 = 10_000.0;

/// Processor time that was used until some moment, or between two.
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

    /// A child that ends in between is counted too: its time passes to the postmaster.
    pub(crate) fn of_postgres(postmaster: u32) -> anyhow::Result<Self> {
        let root = stat(&postmaster.to_string())?;
        let mut ticks = root.own + root.ended_children;
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            // One that has gone since the folder was read is the postmaster's by now, or will be.
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

    /// Of our children that have ended and were waited for.
    pub(crate) fn of_ended_children() -> anyhow::Result<Self> {
        Ok(Self { ticks: stat("self")?.ended_children })
    }

    /// Of everything on the machine.
    pub(crate) fn of_machine() -> anyhow::Result<Self> {
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().context("/proc/stat is empty")?;
        let columns: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; a guest's time is in user already.
        let ticks = columns.iter().take(8).enumerate().filter(|(at, _)| *at != 3 && *at != 4);
        Ok(Self { ticks: ticks.map(|(_, ticks)| ticks).sum() })
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self { ticks: self.ticks.saturating_sub(before.ticks) }
    }

    /// Of both together.
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

/// How many processes wanted to run in the last minute, on average.
pub(crate) fn machine_load() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .context("/proc/loadavg has an unknown form")
}

fn stat(process: &str) -> anyhow::Result<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name is in parentheses and may contain anything; what follows it does not.
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
