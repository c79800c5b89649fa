//! Lines of logs: the index, and the positions of lines. A line ends with a newline. Lines are numbered from
//! 1.

use greenroom_api_types::log::LogIndex;
use greenroom_domain::log_lines::BLOCK_BYTES;
use greenroom_store::log::LogState;

use crate::app::App;
use crate::app::failure::Failure;
use crate::app::log::LogKey;

/// The maximum number of entries of an index. A log of the maximum length has 4,352, one every 256 KiB.
const MAX_ENTRIES: u64 = 4_352;

/// Returns the index of a log, as far as `state` describes it.
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
