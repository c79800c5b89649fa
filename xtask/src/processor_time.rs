//! The processor time of programs that were started.

use std::fs;
use std::time::Duration;

use anyhow::Context;

/// Returns the processor time of all processes that this one has waited for, and that they have waited for.
pub(crate) fn of_children() -> anyhow::Result<Duration> {
    let text = fs::read_to_string("/proc/self/stat").context("cannot read /proc/self/stat")?;
    // The name of the program, in parentheses, may contain spaces. The fields behind it begin with the third.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |number: usize| -> anyhow::Result<u64> {
        Ok(fields.get(number - 3).context("/proc/self/stat has fewer fields than expected")?.parse()?)
    };
    // In ticks of 10 ms, on every Linux.
    Ok(Duration::from_millis((ticks(16)? + ticks(17)?) * 10))
}
