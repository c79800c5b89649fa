//! The search automaton for all forms of a step's secrets. It holds the secrets' values, so nothing here can
//! be printed.

use std::collections::BTreeMap;

use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;

use super::forms::{ENCODINGS, MIN_BYTES, parts};

/// The limit of all patterns together. The automaton needs about 25 bytes for each byte of them, and for a
/// moment three times as much while it is built. Forms beyond the limit are left out, the least likely ones
/// first. Only secrets of many kilobytes reach it.
const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// The number of bytes by which [`Search::skip`] decides whether a pattern may begin. No pattern is shorter.
pub(super) const BEGINNING_BYTES: usize = 4;
/// The size of the filter for that, in bits as a power of two. It fits into the fastest cache of a processor.
const FILTER_BITS: u32 = 17;

/// All forms of a set of secrets.
#[derive(Default)]
pub struct SecretPatterns {
    names: Vec<String>,
    /// `None` if there are no patterns.
    pub(super) search: Option<Search>,
    has_left_out_forms: bool,
}

/// The automaton, and what it does not expose itself.
pub(super) struct Search {
    automaton: NFA,
    start: StateID,
    /// The depth of each state, indexed by its id.
    depths: Vec<u32>,
    /// The index of the secret of each pattern.
    owners: Vec<usize>,
    /// A bit for each hash of the first bytes of a pattern.
    beginnings: Vec<u64>,
}

impl SecretPatterns {
    /// Takes names and values. Values with fewer than six bytes are not masked: they would be found everywhere,
    /// and the masks would reveal them. Fails only if the automaton can't be built.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Self, String> {
        let secrets = secrets.into_iter().filter(|(_, value)| value.len() >= MIN_BYTES);
        let (names, parts): (Vec<String>, Vec<_>) =
            secrets.map(|(name, value)| (name.to_owned(), parts(value))).unzip();
        let (patterns, has_left_out_forms) = patterns(&parts);
        let search = if patterns.is_empty() { None } else { Some(Search::build(&patterns)?) };
        Ok(SecretPatterns { names, search, has_left_out_forms })
    }

    /// Returns the name of a secret that the text contains in any form.
    pub fn find(&self, text: &[u8]) -> Option<&str> {
        let search = self.search.as_ref()?;
        let mut state = search.start();
        for &byte in text {
            state = search.next(state, byte);
            if let Some(pattern) = search.found(state) {
                return self.names.get(*search.owners.get(pattern)?).map(String::as_str);
            }
        }
        None
    }

    /// Returns whether the secrets are so large that some of their encoded forms are not masked.
    pub fn has_left_out_forms(&self) -> bool {
        self.has_left_out_forms
    }
}

/// Returns the patterns with the index of their secret, and whether some were left out. If two secrets have
/// the same form, it belongs to the first of them.
fn patterns(secrets: &[Vec<Vec<u8>>]) -> (BTreeMap<Vec<u8>, usize>, bool) {
    let mut patterns = BTreeMap::new();
    let (mut bytes, mut has_left_out) = (0, false);
    for encode in ENCODINGS {
        for (owner, parts) in secrets.iter().enumerate() {
            for part in parts {
                // Skipped before it is encoded: no form is much shorter than its part.
                let has_room = bytes + part.len() <= MAX_PATTERN_BYTES;
                has_left_out |= !has_room;
                let forms = if has_room { encode(part) } else { Vec::new() };
                for form in forms.into_iter().filter(|form| form.len() >= MIN_BYTES) {
                    if patterns.contains_key(&form) {
                        continue;
                    }
                    if bytes + form.len() > MAX_PATTERN_BYTES {
                        has_left_out = true;
                        continue;
                    }
                    bytes += form.len();
                    patterns.insert(form, owner);
                }
            }
        }
    }
    (patterns, has_left_out)
}

impl Search {
    fn build(patterns: &BTreeMap<Vec<u8>, usize>) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("the secrets can't be masked: {error}");
        // The match kind is the default: all occurrences are found, also those that overlap. A prefilter can't
        // continue in the middle of an occurrence.
        let automaton =
            NFA::builder().prefilter(false).build(patterns.keys()).map_err(|error| failed(&error))?;
        let start = automaton.start_state(Anchored::No).map_err(|error| failed(&error))?;
        let anchored = automaton.start_state(Anchored::Yes).map_err(|error| failed(&error))?;
        let mut depths = Vec::new();
        let mut beginnings = vec![0; 1 << (FILTER_BITS - u64::BITS.ilog2())];
        for pattern in patterns.keys() {
            if let Some(beginning) = pattern.first_chunk() {
                let (index, bit) = filter_bit(*beginning);
                beginnings[index] |= bit;
            }
            let mut state = anchored;
            for (depth, &byte) in (1..).zip(pattern) {
                state = automaton.next_state(Anchored::Yes, state, byte);
                let index = state.as_usize();
                if depths.len() <= index {
                    depths.resize(index + 1, 0);
                }
                depths[index] = depth;
            }
        }
        let owners = patterns.values().copied().collect();
        Ok(Search { automaton, start, depths, owners, beginnings })
    }

    pub(super) fn start(&self) -> StateID {
        self.start
    }

    pub(super) fn next(&self, state: StateID, byte: u8) -> StateID {
        self.automaton.next_state(Anchored::No, state, byte)
    }

    /// Returns the first position, at `from` or after it, at which a pattern may begin: because it begins like
    /// one, or because too few bytes follow to decide that. Most of a log is skipped this way, which is much
    /// faster than walking the automaton.
    pub(super) fn skip(&self, input: &[u8], from: usize) -> usize {
        let may_begin = |window: &[u8]| {
            window.first_chunk().is_none_or(|beginning| {
                let (index, bit) = filter_bit(*beginning);
                self.beginnings[index] & bit != 0
            })
        };
        let skipped = input[from..].windows(BEGINNING_BYTES).position(may_begin);
        skipped.map_or_else(
            || from.max((input.len() + 1).saturating_sub(BEGINNING_BYTES)),
            |skipped| from + skipped,
        )
    }

    /// Returns the length of the longest pattern that ends in this state.
    pub(super) fn found_bytes(&self, state: StateID) -> Option<usize> {
        if !self.automaton.is_special(state) || !self.automaton.is_match(state) {
            return None;
        }
        let matches = 0..self.automaton.match_len(state);
        let length = |index| self.automaton.pattern_len(self.automaton.match_pattern(state, index));
        matches.map(length).max()
    }

    /// Returns a pattern that ends in this state.
    fn found(&self, state: StateID) -> Option<usize> {
        let is_match = self.automaton.is_special(state) && self.automaton.is_match(state);
        is_match.then(|| self.automaton.match_pattern(state, 0).as_usize())
    }

    /// Returns how many of the last bytes may be the beginning of a pattern: the length of the longest
    /// beginning of a pattern that the input so far ends with.
    pub(super) fn depth(&self, state: StateID) -> usize {
        self.depths.get(state.as_usize()).map_or(0, |&depth| depth as usize)
    }
}

/// Returns the index in the filter and the bit of the first bytes of a pattern.
fn filter_bit(beginning: [u8; BEGINNING_BYTES]) -> (usize, u64) {
    // Multiplicative hashing; the factor is 2³² divided by the golden ratio.
    let hash = u32::from_le_bytes(beginning).wrapping_mul(0x9E37_79B1) >> (u32::BITS - FILTER_BITS);
    ((hash / u64::BITS) as usize, 1 << (hash % u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns_of<'a>(secrets: &[(&'a str, &'a str)]) -> SecretPatterns {
        SecretPatterns::new(secrets.iter().map(|(name, value)| (*name, value.as_bytes()))).unwrap()
    }

    #[test]
    fn a_text_with_a_secret_is_found_with_the_name_of_the_secret() {
        let patterns = patterns_of(&[("key", "hunter22"), ("short", "abc"), ("other", "correct horse")]);
        for (text, name) in [
            ("x hunter22 y", Some("key")),
            ("aHVudGVyMjI=", Some("key")),
            ("correct+horse", Some("other")),
            ("hunter2", None),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(patterns.find(text.as_bytes()), name, "{text}");
        }
        assert_eq!(SecretPatterns::default().find(b"hunter22"), None);
    }

    #[test]
    fn the_depth_is_the_length_of_the_longest_beginning_of_a_pattern() {
        let patterns = patterns_of(&[("a", "abcabd"), ("b", "bcabcx")]);
        let search = patterns.search.unwrap();
        let depth = |text: &str| {
            search.depth(text.bytes().fold(search.start(), |state, byte| search.next(state, byte)))
        };
        for (text, expected) in [("", 0), ("\u{1}", 0), ("ab", 2), ("abcab", 5), ("abcabc", 5), ("?abc", 3)] {
            assert_eq!(depth(text), expected, "{text}");
        }
    }

    /// Each secret is as large as the server allows, and they differ.
    #[test]
    fn of_the_largest_secrets_the_unlikely_forms_are_left_out() {
        let value = |seed: u32| {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            (0..64 * 1024).map(|_| next()).collect::<Vec<u8>>()
        };
        let values: Vec<Vec<u8>> = (1..=4).map(value).collect();
        let (patterns, has_left_out) = patterns(&values.iter().map(|value| parts(value)).collect::<Vec<_>>());
        assert!(has_left_out);
        assert!(patterns.keys().map(Vec::len).sum::<usize>() <= MAX_PATTERN_BYTES);
        for value in &values {
            assert!(patterns.contains_key(value.trim_ascii()));
        }
        assert!(!patterns_of(&[("key", "hunter22")]).has_left_out_forms());
    }
}
