//! The data of a prompt: blocks that are fenced by a marker.

use sha2::{Digest, Sha256};

use super::context::{Change, EvidenceItem, FailureContext};
use crate::model::text::{bound, clean, clean_line, count_instruction_like_lines, cut_end, cut_middle, mask};

/// The most that the data of a prompt has.
pub const MAX_DATA_BYTES: usize = 24 << 10;

const MAX_EVIDENCE_BYTES: usize = 14 << 10;
const MAX_ITEM_BYTES: usize = 4 << 10;
const MAX_DEFINITION_BYTES: usize = 4 << 10;
const MAX_NAME_CHARACTERS: usize = 100;
const MAX_LINE_CHARACTERS: usize = 200;
const MAX_FILES: usize = 20;
/// How much longer than what is kept a text may be when it is searched for secrets.
const SEARCH_FACTOR: usize = 4;
/// More changes and evidence than this are left out without being looked at.
const MAX_ITEMS: usize = 100;
const MARKER_DIGITS: usize = 16;

/// What was done to the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PromptCounts {
    /// Texts that were shortened.
    pub cut: usize,
    /// Evidence, changes and files that were left out.
    pub left_out: usize,
    /// Places that had the form of a secret.
    pub masked: usize,
    /// Hidden characters that were removed.
    pub hidden: usize,
    /// Lines that read like instructions to a model. They are sent: see `text/instructions.rs`.
    pub instruction_like: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Data {
    pub(super) text: String,
    pub(super) evidence_ids: Vec<String>,
    pub(super) change_ids: Vec<String>,
    pub(super) counts: PromptCounts,
}

/// A label is ours; a text is not.
struct Block {
    label: String,
    text: String,
}

impl Block {
    fn bytes(&self) -> usize {
        self.render(&"0".repeat(MARKER_DIGITS)).len()
    }

    fn render(&self, marker: &str) -> String {
        format!("[begin {marker}] {}\n{}\n[end {marker}]\n", self.label, self.text)
    }
}

impl Data {
    pub(super) fn render(context: &FailureContext) -> Self {
        let mut writer = Writer { counts: PromptCounts::default() };
        let mut blocks = vec![writer.failure(context)];
        let mut room = MAX_DATA_BYTES - first_line(&"0".repeat(MARKER_DIGITS)).len() - blocks[0].bytes();
        let definition = writer.definition(&context.definition);
        room = room.saturating_sub(definition.as_ref().map_or(0, Block::bytes));

        let mut evidence_room = room.min(MAX_EVIDENCE_BYTES);
        let mut evidence_ids = Vec::new();
        for item in context.evidence.iter().take(MAX_ITEMS) {
            let block = writer.evidence(item);
            if writer.fits(&block, &mut evidence_room) {
                room -= block.bytes();
                evidence_ids.push(item.id.clone());
                blocks.push(block);
            }
        }
        blocks.extend(definition);
        let mut change_ids = Vec::new();
        for change in context.changes.iter().take(MAX_ITEMS) {
            let block = writer.change(change);
            if writer.fits(&block, &mut room) {
                change_ids.push(change.id.clone());
                blocks.push(block);
            }
        }

        let items = [context.evidence.len(), context.changes.len()];
        writer.counts.left_out += items.map(|count| count.saturating_sub(MAX_ITEMS)).iter().sum::<usize>();
        let marker = marker(&blocks);
        let mut text = first_line(&marker);
        text.extend(blocks.iter().map(|block| block.render(&marker)));
        Self { text, evidence_ids, change_ids, counts: writer.counts }
    }
}

fn first_line(marker: &str) -> String {
    format!("The marker of this message is {marker}.\n")
}

/// Returns a marker that no block contains. It is made of all texts together, so an attacker who controls some of
/// them can't foresee it.
fn marker(blocks: &[Block]) -> String {
    let mut hash = Sha256::new();
    for block in blocks {
        hash.update(block.text.as_bytes());
        hash.update([0]);
    }
    let mut digest = hash.finalize();
    loop {
        let marker = format!("{digest:x}")[..MARKER_DIGITS].to_owned();
        if !blocks.iter().any(|block| block.text.to_lowercase().contains(&marker)) {
            return marker;
        }
        digest = Sha256::digest(digest);
    }
}

/// Prepares texts, and counts what was done to them.
struct Writer {
    counts: PromptCounts,
}

impl Writer {
    /// Counts a block that has no room.
    fn fits(&mut self, block: &Block, room: &mut usize) -> bool {
        let rest = room.checked_sub(block.bytes());
        self.counts.left_out += usize::from(rest.is_none());
        *room = rest.unwrap_or(*room);
        rest.is_some()
    }

    fn failure(&mut self, context: &FailureContext) -> Block {
        let (stage, step) = (self.name(&context.stage), self.name(&context.step));
        let exit_code = context.exit_code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let because: Vec<String> =
            context.verdict_because.iter().take(5).map(|text| self.name(text)).collect();
        let text = format!(
            "stage: {stage}\nstep: {step}\nexit code: {exit_code}\nreason: {}\nverdict from history: {} ({})\ncategory by rules: {}",
            self.line(&context.reason),
            self.name(&context.verdict),
            because.join(", "),
            self.name(&context.category),
        );
        Block { label: "the failure".to_owned(), text }
    }

    fn evidence(&mut self, item: &EvidenceItem) -> Block {
        let label = format!("evidence {}, lines {} to {} of the log", item.id, item.from_line, item.to_line);
        Block { label, text: self.text(&item.text, MAX_ITEM_BYTES) }
    }

    fn change(&mut self, change: &Change) -> Block {
        let label = format!("change {}, kind {}", change.id, change.kind.as_str());
        let mut text = self.line(&change.title);
        for file in change.files.iter().take(MAX_FILES) {
            text.push_str("\nfile: ");
            text.push_str(&self.line(file));
        }
        self.counts.left_out += change.files.len().saturating_sub(MAX_FILES);
        Block { label, text }
    }

    fn definition(&mut self, definition: &str) -> Option<Block> {
        let text = self.text(definition, MAX_DEFINITION_BYTES);
        (!text.is_empty()).then(|| Block { label: "the definition of the stage".to_owned(), text })
    }

    fn name(&mut self, text: &str) -> String {
        self.short(text, MAX_NAME_CHARACTERS)
    }

    fn line(&mut self, text: &str) -> String {
        self.short(text, MAX_LINE_CHARACTERS)
    }

    fn short(&mut self, text: &str, max_characters: usize) -> String {
        let (bounded, is_bounded) = bound(text, max_characters * SEARCH_FACTOR);
        let (cleaned, hidden) = clean_line(&bounded);
        let masked = self.masked(&cleaned, hidden);
        let (kept, is_cut) = cut_end(&masked, max_characters);
        self.counts.cut += usize::from(is_bounded || is_cut);
        kept
    }

    fn text(&mut self, text: &str, max_bytes: usize) -> String {
        let (bounded, is_bounded) = bound(text, max_bytes * SEARCH_FACTOR);
        let (cleaned, hidden) = clean(&bounded);
        let masked = self.masked(cleaned.trim_end(), hidden);
        let (kept, left_out) = cut_middle(&masked, max_bytes);
        self.counts.cut += usize::from(is_bounded || left_out > 0);
        kept
    }

    fn masked(&mut self, cleaned: &str, hidden: usize) -> String {
        let (masked, count) = mask(cleaned);
        self.counts.hidden += hidden;
        self.counts.masked += count;
        self.counts.instruction_like += count_instruction_like_lines(&masked);
        masked
    }
}
