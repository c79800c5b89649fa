//! Lines of logs: the index, and the positions of lines. A line ends with a newline. Lines are numbered from
//! 1.

use std::ops::Range;

use greenroom_api_types::log::LogIndex;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::log_lines::{BLOCK_BYTES, count_newlines};
use greenroom_store::log::LogState;

use crate::App;
use crate::failure::Failure;
use crate::log::{LogKey, expired};

/// The maximum number of entries of an index. A log of the maximum length has 4,352, one every 256 KiB.
const MAX_ENTRIES: u64 = 4_352;

/// Which part of a log to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSelection {
    /// All bytes from an offset on.
    After(u64),
    /// The lines from `first` to `last`, including both; to the end if `last` is `None`.
    Lines { first: u64, last: Option<u64> },
    /// The last lines, this many at most.
    Tail(u64),
}

/// Returns the index of a log, as far as `state` describes it.
#[boxed_futures]
pub async fn index(app: &App, key: LogKey, state: LogState) -> Result<LogIndex, Failure> {
    let stored = app.store.log_blocks(key.organization, key.step).await?;
    let count = state.bytes.div_ceil(BLOCK_BYTES);
    let stride = count.div_ceil(MAX_ENTRIES).next_power_of_two();
    let (mut line_numbers, mut times) = (Vec::new(), Vec::new());
    // Blocks of an incomplete list have no known position.
    let lines = state.lines.filter(|_| stored.len() as u64 >= count);
    if lines.is_some() {
        // Both are at most the number of blocks in a log of the maximum length. The log may have grown since
        // its state was read.
        for block in stored.iter().take(count as usize).step_by(stride as usize) {
            line_numbers.push(block.newlines + 1);
            times.push(block.at);
        }
    }
    let every = stride * BLOCK_BYTES;
    Ok(LogIndex { bytes: state.bytes, lines, complete: state.closed, every, line_numbers, times })
}

/// Returns the bytes of a selection. What is past the end of the log is omitted.
#[boxed_futures]
pub async fn select(
    app: &App,
    key: LogKey,
    state: LogState,
    selection: LogSelection,
) -> Result<Range<u64>, Failure> {
    let total = state.bytes;
    match selection {
        LogSelection::After(offset) => Ok(offset.min(total)..total),
        LogSelection::Lines { first, last } => {
            let lines = state.lines.ok_or_else(|| not_counted("lines"))?;
            let start = line_start(app, key, total, lines, first).await?;
            let end = match last {
                Some(last) => line_start(app, key, total, lines, last.saturating_add(1)).await?,
                None => total,
            };
            Ok(start..end)
        }
        LogSelection::Tail(count) => {
            let lines = state.lines.ok_or_else(|| not_counted("tail"))?;
            let first = lines.saturating_sub(count) + 1;
            Ok(line_start(app, key, total, lines, first).await?..total)
        }
    }
}

/// Returns the position of the first byte of a line, of a log with `total` bytes and `lines` lines. A line
/// after the last one begins at the end.
async fn line_start(app: &App, key: LogKey, total: u64, lines: u64, line: u64) -> Result<u64, Failure> {
    let LogKey { organization, step } = key;
    if line <= 1 {
        return Ok(0);
    }
    if line > lines {
        return Ok(total);
    }
    let newlines = line - 1;
    let known = app.store.log_position_by_newlines(organization, step, newlines).await?;
    let (mut at, mut missing) = (known.offset, newlines.saturating_sub(known.newlines));
    while at < total {
        let parts = app.log_reader().read_parts(organization, step, at..total, BLOCK_BYTES).await?;
        at = parts.last().ok_or_else(expired)?.end();
        for part in parts {
            let found = count_newlines(&part.bytes);
            if found < missing {
                missing -= found;
                continue;
            }
            let mut newlines = part.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            // At most the length of the part.
            let last = newlines.nth(missing.saturating_sub(1) as usize);
            return Ok(last.map_or(part.start, |(index, _)| part.start + index as u64 + 1));
        }
    }
    Ok(total)
}

fn not_counted(parameter: &str) -> Failure {
    Failure::field(
        parameter,
        "can't be used with this log: an earlier version of the server has stored a part of it, and did not \
         count its lines. Use `Range`",
    )
}
