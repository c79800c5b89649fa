//! Searches logs for a text. A search is bounded by bytes, time and matches, and returns where to continue.
//! What an organization searches per second is bounded too.

use std::time::Duration;

use greenroom_api_types::log::{LogMatch, LogMatches};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::log_lines::count_newlines;
use greenroom_store::log::LogState;
use tokio::time::Instant;

use crate::App;
use crate::failure::Failure;
use crate::limits::Bearer;
use crate::log::line_finder::LineFinder;
use crate::log::{LogKey, expired};

/// How much is read in one call, which is about what a search has in memory.
const READ_BYTES: u64 = 1024 * 1024;
/// How much of a log one search reads at most.
const MAX_BYTES: u64 = 256 * READ_BYTES;
/// A search that takes longer returns what it has found. It is shorter than the deadline of a request.
const MAX_DURATION: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct SearchRequest {
    pub text: String,
    pub ignores_case: bool,
    /// The position in the log to begin at.
    pub after: u64,
    /// How many lines to return.
    pub limit: usize,
}

#[boxed_futures]
pub async fn search(
    app: &App,
    bearer: Bearer,
    key: LogKey,
    state: LogState,
    request: &SearchRequest,
) -> Result<LogMatches, Failure> {
    let _counted = app.limits.search(bearer)?;
    let started = Instant::now();
    let (from, total) = (request.after.min(state.bytes), state.bytes);
    let (mut at, mut paid) = (from, 0);
    let mut finder = LineFinder::new(&request.text, request.ignores_case, from, request.limit);
    while at < total && !finder.is_full() {
        if at - from >= MAX_BYTES || started.elapsed() >= MAX_DURATION {
            break;
        }
        // Bytes are counted for the organization before they are read. A read may return fewer.
        let wanted = READ_BYTES.min(total - at);
        if paid < wanted {
            match app.limits.search_bytes(bearer, wanted - paid) {
                Ok(()) => paid = wanted,
                Err(exceeded) if at == from => return Err(exceeded.into()),
                Err(_) => break,
            }
        }
        let parts = app.log_reader().read_parts(key.organization, key.step, at..total, READ_BYTES).await?;
        let end = parts.last().ok_or_else(expired)?.end();
        paid = paid.saturating_sub(end - at);
        at = end;
        for part in parts {
            finder.push(&part.bytes, part.end() == total);
        }
    }
    let first_line = match state.lines {
        Some(_) => Some(newlines_before(app, key, from).await? + 1),
        None => None,
    };
    Ok(to_matches(finder, first_line, total))
}

fn to_matches(finder: LineFinder, first_line: Option<u64>, total: u64) -> LogMatches {
    let searched_to = finder.searched_to();
    let next = finder.first_omitted().or_else(|| (searched_to < total).then_some(searched_to));
    let count = finder.total();
    let found = finder.into_found().into_iter();
    let matches = found.map(|found| LogMatch {
        line: first_line.map(|first| first + found.newlines),
        byte: found.offset,
        text: found.excerpt,
    });
    LogMatches { matches: matches.collect(), total: count, searched_to, next }
}

/// Returns the number of newlines before a position, by reading less than a block.
async fn newlines_before(app: &App, key: LogKey, offset: u64) -> Result<u64, Failure> {
    let LogKey { organization, step } = key;
    let known = app.store.log_position_by_offset(organization, step, offset).await?;
    let (mut at, mut newlines) = (known.offset, known.newlines);
    while at < offset {
        let parts = app.log_reader().read_parts(organization, step, at..offset, READ_BYTES).await?;
        at = parts.last().ok_or_else(expired)?.end();
        newlines += parts.iter().map(|part| count_newlines(&part.bytes)).sum::<u64>();
    }
    Ok(newlines)
}
