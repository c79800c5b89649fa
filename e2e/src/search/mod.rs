//! Searches for the secrets, in any form and in any part that is long enough not to occur by chance.

pub(crate) mod forms;
pub(crate) mod values;

use std::collections::HashMap;
use std::path::Path;

use crate::search::forms::forms;
use crate::search::values::CanarySecret;

/// The length of a part. A shorter form is only searched for as a whole.
const PART_BYTES: usize = 12;
/// The length of the beginning of a part by which it is looked up.
const KEY_BYTES: usize = 6;
const KEY_MASK: u64 = (1 << (KEY_BYTES * 8)) - 1;
const FILTER_BITS: u32 = 22;
/// How many findings of one sink are described.
const MAX_EXAMPLES: usize = 5;

/// The result of the search of one sink.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) bytes: u64,
    /// How many files were read.
    pub(crate) files: u64,
    pub(crate) hits: u64,
    pub(crate) examples: Vec<String>,
}

impl Found {
    pub(crate) const EMPTY: Self = Self { bytes: 0, files: 0, hits: 0, examples: Vec::new() };

    pub(crate) fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.files += other.files;
        self.hits += other.hits;
        self.examples.extend(other.examples);
        self.examples.truncate(MAX_EXAMPLES);
    }
}

pub(crate) struct Needles {
    /// The parts, by their beginnings. Each with the name of what it belongs to.
    parts: HashMap<u64, Vec<(Vec<u8>, String)>>,
    /// Which beginnings there are, approximately: most positions are decided by this alone.
    filter: Vec<u64>,
}

impl Needles {
    pub(crate) fn of(secrets: &[CanarySecret]) -> Self {
        let mut needles = Self { parts: HashMap::new(), filter: vec![0; 1 << (FILTER_BITS - 6)] };
        for secret in secrets {
            for variant in 0..6 {
                for form in forms(&secret.value, variant) {
                    needles.add(&form.secret, &format!("{} {}", secret.name, form.name));
                }
            }
        }
        needles
    }

    /// Adds a master key, which no sink may contain either.
    pub(crate) fn add_key(&mut self, key: &str) {
        self.add(key.as_bytes(), "the master key");
    }

    fn add(&mut self, secret: &[u8], name: &str) {
        let length = secret.len().min(PART_BYTES);
        for part in secret.windows(length.max(KEY_BYTES)) {
            // Labels of PEM files are no secret.
            if [&b"-----BEG"[..], b"-----END"].iter().any(|label| part.starts_with(label)) {
                continue;
            }
            let key = part.iter().take(KEY_BYTES).fold(0, |key, byte| key << 8 | u64::from(*byte));
            let parts = self.parts.entry(key).or_default();
            if parts.iter().all(|(known, _)| known != part) {
                parts.push((part.to_vec(), name.to_owned()));
            }
            let bit = filter_bit(key);
            self.filter[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Searches a text. Parts that touch or overlap are one finding.
    pub(crate) fn search(&self, text: &[u8]) -> Found {
        let (mut found, mut key, mut hit_end) =
            (Found { bytes: text.len() as u64, ..Found::default() }, 0, 0);
        for (at, byte) in text.iter().enumerate() {
            key = (key << 8 | u64::from(*byte)) & KEY_MASK;
            let bit = filter_bit(key);
            if self.filter[bit / 64] & (1 << (bit % 64)) == 0 || at + 1 < KEY_BYTES {
                continue;
            }
            let start = at + 1 - KEY_BYTES;
            let rest = &text[start..];
            let parts = self.parts.get(&key).map_or(&[][..], Vec::as_slice);
            let Some((part, name)) = parts.iter().find(|(part, _)| rest.starts_with(part)) else { continue };
            if start >= hit_end {
                found.hits += 1;
                if found.examples.len() < MAX_EXAMPLES {
                    let around = &text[start.saturating_sub(40)..(start + part.len() + 20).min(text.len())];
                    found
                        .examples
                        .push(format!("{name}: {}", String::from_utf8_lossy(around).escape_debug()));
                }
            }
            hit_end = start + part.len() + 1;
        }
        found
    }

    /// Searches all files below a folder, or one file. A file that is gone by then is skipped.
    pub(crate) fn search_files(&self, path: &Path) -> Found {
        let mut found = Found::default();
        let mut open = vec![path.to_owned()];
        while let Some(path) = open.pop() {
            let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
            if metadata.is_dir() {
                open.extend(
                    std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()),
                );
            } else if metadata.is_file()
                && let Ok(bytes) = std::fs::read(&path)
            {
                let mut of_file = Found { files: 1, ..self.search(&bytes) };
                let name = |example: String| format!("{}: {example}", path.display());
                of_file.examples = of_file.examples.into_iter().map(name).collect();
                found.add(of_file);
            }
        }
        found
    }
}

fn filter_bit(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - FILTER_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::values::make;

    #[test]
    fn parts_of_every_form_are_found_and_nothing_else() {
        let secrets = make(20);
        let needles = Needles::of(&secrets);
        assert_eq!(needles.search(&b"a text without any secret, but with -----BEGIN".repeat(50)).hits, 0);
        for secret in &secrets {
            for form in forms(&secret.value, 2) {
                let text = [b"before ", form.printed.as_slice(), b" after"].concat();
                assert_eq!(needles.search(&text).hits.min(1), 1, "{} {}", secret.name, form.name);
                if form.secret.len() >= 40 {
                    let half = form.secret.get(..20).unwrap();
                    assert!(needles.search(half).hits >= 1, "{} {}", secret.name, form.name);
                }
            }
        }
    }
}
