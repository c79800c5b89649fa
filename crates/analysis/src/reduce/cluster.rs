//! Blocks near each other are one failure and its consequences. The last failure of a log usually ended the step, and
//! its first strong line is its cause.

use std::ops::Range;

use super::block::Block;
use super::keywords::Signal;
use super::record::Record;

/// Blocks with at most this many lines between them are in one cluster.
const MAX_DISTANCE: u64 = 5;

/// Blocks near each other, by their indexes.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) blocks: Range<usize>,
    /// The index of the block that shows the cause.
    pub(crate) lead: usize,
    pub(crate) score: f64,
}

/// Returns the clusters with strong lines, or, if there are none, those with consequences. The best one comes first.
pub(crate) fn clusters(records: &[Record], blocks: &[Block], count: impl Fn(u64) -> u32) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut start = 0;
    for end in 1..=blocks.len() {
        let is_end = match (blocks.get(end - 1), blocks.get(end)) {
            (Some(block), Some(next)) => distance(records, block, next) > MAX_DISTANCE,
            _ => true,
        };
        if is_end {
            clusters.extend(cluster(blocks, start..end));
            start = end;
        }
    }
    let mut after = clusters.len();
    for cluster in &mut clusters {
        after -= 1;
        let lead = blocks.get(cluster.lead);
        let repeats = lead.and_then(|lead| records.get(lead.lead)).map_or(1, |record| count(record.hash));
        let lines: usize =
            blocks.get(cluster.blocks.clone()).unwrap_or_default().iter().map(|b| b.lines.len()).sum();
        cluster.score = strength(lead.map_or(Signal::None, |lead| lead.signal)) + 1.5 / (1.0 + after as f64)
            - 0.25 * f64::from(repeats).log2()
            + 0.1 * (lines.min(16) as f64).log2();
    }
    clusters.reverse();
    // A stable sort: among equal ones, the last one of the log comes first.
    clusters.sort_by(|first, second| second.score.total_cmp(&first.score));
    clusters
}

fn distance(records: &[Record], block: &Block, next: &Block) -> u64 {
    let number = |index: usize| records.get(index).map_or(0, |record| record.number);
    number(next.lines.start).saturating_sub(number(block.lines.end.saturating_sub(1)) + 1)
}

fn cluster(blocks: &[Block], range: Range<usize>) -> Option<Cluster> {
    let within = blocks.get(range.clone())?;
    // The first cause, else the first title.
    let first = |least: Signal| within.iter().position(|block| block.signal >= least);
    let lead = first(Signal::Phrase).or_else(|| first(Signal::Title)).unwrap_or(0);
    Some(Cluster { lead: range.start + lead, blocks: range, score: 0.0 })
}

fn strength(signal: Signal) -> f64 {
    match signal {
        Signal::Explicit => 3.0,
        Signal::Phrase => 2.0,
        Signal::Title => 1.5,
        Signal::Summary => 1.0,
        Signal::Weak | Signal::None => 0.0,
    }
}
