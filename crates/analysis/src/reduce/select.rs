//! Chooses the lines that are shown, the most important ones first.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::block::{Block, blocks};
use super::cluster::{Cluster, clusters};
use super::keywords::Signal;
use super::record::Record;
use super::reduction::{Budget, Decisive, Item, LogSize, Reduction};
use super::template::template;

/// The decisive line and what surrounds it have this many lines, so that a short list has room for other candidates.
const MAX_DECISIVE_LINES: usize = 5;
/// How many of them are before the decisive line.
const MAX_LINES_BEFORE: usize = 2;
/// How many new lines before the decisive one are shown next to it, and how far away they are at most.
const MAX_NEIGHBOURS: usize = 2;
const MAX_NEIGHBOUR_DISTANCE: u64 = 4;
/// How many blocks of the best cluster, and how many other clusters, are shown by one line each before whole blocks.
const MAX_CANDIDATES: usize = 24;

/// `records` are in the order of the log. `count` returns how many lines have a template.
pub(crate) fn select(
    records: &[Record],
    has_baseline: bool,
    size: LogSize,
    budget: Budget,
    count: impl Fn(u64) -> u32,
) -> Reduction {
    let mut selection = Selection::new(records, budget, &count);
    let blocks = blocks(records);
    let clusters = clusters(records, &blocks, &count);
    let lead = match clusters.first().and_then(|best| blocks.get(best.lead)) {
        Some(block) => Some((block.lead, window(block))),
        None => without_signal(records, has_baseline).map(|line| (line, line..line + 1)),
    };
    if let Some((line, lines)) = lead {
        selection.add(lines, line);
        selection.decide(line);
        add_neighbours(&mut selection, records, line);
        rank(&mut selection, records, &blocks, &clusters);
    }
    selection.finish(size)
}

/// Adds the new lines next to the decisive one. They may show the cause without any keyword of the table.
fn add_neighbours(selection: &mut Selection<'_>, records: &[Record], decisive: usize) {
    let Some(number) = records.get(decisive).map(|record| record.number) else { return };
    let is_near = |index: &usize| {
        let record = records.get(*index);
        record.is_some_and(|record| record.is_new && record.number.abs_diff(number) <= MAX_NEIGHBOUR_DISTANCE)
    };
    let has_text = |index: &usize| records.get(*index).is_some_and(|record| !record.is_blank());
    let before = (0..decisive).rev().take_while(is_near).filter(has_text).take(MAX_NEIGHBOURS);
    let after = (decisive + 1..records.len()).take_while(is_near).filter(has_text).take(1);
    for index in before.chain(after) {
        selection.add_line(Some(index));
    }
}

/// Returns the decisive line of a log without any strong line.
fn without_signal(records: &[Record], has_baseline: bool) -> Option<usize> {
    let text = |index: &usize| records.get(*index).is_some_and(|record| !record.is_blank());
    let last = (0..records.len()).rev().find(text);
    if !has_baseline {
        return last;
    }
    let new = |index: &usize| records.get(*index).is_some_and(|record| record.is_new);
    let signal = |index: &usize| records.get(*index).map_or(Signal::None, |record| record.signal);
    (0..records.len()).filter(new).max_by_key(signal).or(last)
}

fn rank(selection: &mut Selection<'_>, records: &[Record], blocks: &[Block], clusters: &[Cluster]) {
    let last =
        (0..records.len()).rev().find(|index| records.get(*index).is_some_and(|record| !record.is_blank()));
    let of = |cluster: &Cluster| blocks.get(cluster.blocks.clone()).unwrap_or_default();
    let best = clusters.first();
    let is_other = |block: &&Block| {
        block.signal.is_strong() && Some(block.lead) != best.and_then(|best| lead(blocks, best))
    };
    let mut others = best.map(of).unwrap_or_default().iter().filter(is_other).map(|block| block.lead);
    let mut leads = clusters.iter().skip(1).filter_map(|cluster| lead(blocks, cluster));
    if best.is_none() {
        for index in
            last.map(|last| last.saturating_sub(MAX_DECISIVE_LINES)..last).into_iter().flatten().rev()
        {
            selection.add_line(Some(index));
        }
    }
    for rank in 0..MAX_CANDIDATES {
        selection.add_line(others.next());
        selection.add_line(leads.next());
        if rank == 0 {
            selection.add_line(last);
        }
    }
    // The rest of the blocks, those of the best cluster first.
    for block in clusters.iter().flat_map(of) {
        selection.add(block.lines.clone(), block.lead);
    }
    for wanted in [Signal::Weak, Signal::None] {
        let is_wanted = |index: &usize| {
            records.get(*index).is_some_and(|record| record.is_new && record.signal == wanted)
        };
        for index in (0..records.len()).rev().filter(is_wanted) {
            selection.add_line(Some(index));
        }
    }
}

fn lead(blocks: &[Block], cluster: &Cluster) -> Option<usize> {
    blocks.get(cluster.lead).map(|block| block.lead)
}

/// Returns the lead of a block and the lines around it.
fn window(block: &Block) -> Range<usize> {
    let start = block.lead.saturating_sub(MAX_LINES_BEFORE).max(block.lines.start);
    start..(start + MAX_DECISIVE_LINES).min(block.lines.end)
}

struct Selection<'a> {
    records: &'a [Record],
    budget: Budget,
    count: &'a dyn Fn(u64) -> u32,
    shown: Vec<bool>,
    /// Templates of the leads of items.
    leads: HashSet<u64>,
    lines: usize,
    bytes: usize,
    items: Vec<Item>,
    decisive: Option<Decisive>,
    /// How many shown new lines have a template.
    shown_new: HashMap<u64, u64>,
}

impl<'a> Selection<'a> {
    fn new(records: &'a [Record], budget: Budget, count: &'a dyn Fn(u64) -> u32) -> Self {
        Self {
            records,
            budget,
            count,
            shown: vec![false; records.len()],
            leads: HashSet::new(),
            lines: 0,
            bytes: 0,
            items: Vec::new(),
            decisive: None,
            shown_new: HashMap::new(),
        }
    }

    fn add_line(&mut self, index: Option<usize>) {
        if let Some(index) = index {
            self.add(index..index + 1, index);
        }
    }

    /// Adds those of the lines that are not shown yet, unless an item with the same lead is.
    fn add(&mut self, lines: Range<usize>, lead: usize) {
        let Some(record) = self.records.get(lead) else { return };
        let is_shown = self.shown.get(lead).copied().unwrap_or(true);
        if !is_shown && !self.leads.insert(record.hash) {
            return;
        }
        let mut start = lines.start;
        while start < lines.end {
            let run = (start..lines.end).take_while(|index| self.shown.get(*index) == Some(&false)).count();
            if run > 0 {
                self.add_run(start..start + run, lead);
            }
            start += run + 1;
        }
    }

    fn add_run(&mut self, lines: Range<usize>, lead: usize) {
        let records = self.records.get(lines.clone()).unwrap_or_default();
        let is_blank = |record: &&Record| record.is_blank();
        let leading = records.iter().take_while(is_blank).count();
        let trailing = records.iter().skip(leading).rev().take_while(is_blank).count();
        let room = self.budget.lines.saturating_sub(self.lines);
        let mut start = lines.start + leading;
        let mut end = (lines.end - trailing).max(start).min(start + room);
        // The decisive line is shown, even if the budget is smaller than its item.
        if self.items.is_empty() && !(start..end).contains(&lead) && room > 0 {
            (start, end) = (lead, lead + 1);
        }
        let Some(records) = self.records.get(start..end) else { return };
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return };
        let text = records.iter().map(|record| &*record.text).collect::<Vec<_>>().join("\n");
        if self.bytes + text.len() > self.budget.bytes && !self.items.is_empty() {
            return;
        }
        let strongest = if (start..end).contains(&lead) { lead } else { start };
        let hash = self.records.get(strongest).map_or(0, |record| record.hash);
        let repeats = (self.count)(hash);
        self.lines += records.len();
        self.bytes += text.len();
        for record in records.iter().filter(|record| record.is_new) {
            *self.shown_new.entry(record.hash).or_default() += 1;
        }
        if let Some(shown) = self.shown.get_mut(start..end) {
            shown.fill(true);
        }
        self.items.push(Item {
            from_line: first.number,
            to_line: last.number,
            from_byte: first.from,
            to_byte: last.to,
            is_new: records.iter().any(|record| record.is_new),
            repeats: u64::from(repeats),
            cut_lines: records.iter().map(|record| u32::from(record.is_cut)).sum(),
            text,
        });
    }

    fn decide(&mut self, lead: usize) {
        let (Some(record), Some(_)) = (self.records.get(lead), self.items.first()) else { return };
        let (line, text) = (record.number, record.text.to_string());
        self.decisive = Some(Decisive { item: 0, line, template: template(&text), text });
    }

    fn finish(self, size: LogSize) -> Reduction {
        let shown: u64 = self.shown_new.values().sum();
        let repeats = |(hash, shown): (&u64, &u64)| u64::from((self.count)(*hash)).saturating_sub(*shown);
        let folded_lines = self.shown_new.iter().map(repeats).sum();
        let omitted_lines = size.new_lines.saturating_sub(shown + folded_lines);
        Reduction { items: self.items, decisive: self.decisive, size, folded_lines, omitted_lines }
    }
}
