//! Masks secrets in a log before it leaves this machine. Works on a stream: a secret may arrive in several
//! pieces, and output can't be changed after it was written.
//!
//! Every byte that belongs to an occurrence of a secret is masked, also where occurrences overlap; each
//! contiguous run of masked bytes becomes one `***`. The base64 forms of a secret are masked as well, at any
//! position within a longer encoded text. Secrets with fewer than six bytes are not masked: they would be
//! found everywhere, and the masks would reveal them.

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

const MIN_SECRET_BYTES: usize = 6;
const MASK: &[u8] = b"***";

/// Without secrets, input is passed on immediately and unchanged.
#[derive(Debug)]
pub struct Masker {
    patterns: Vec<Vec<u8>>,
    longest: usize,
    /// `None` if there are no patterns.
    finder: Option<AhoCorasick>,
    /// Input that may still be the beginning of a secret.
    pending: Vec<u8>,
    /// How many of the pending bytes belong to a secret that began before them.
    masked: usize,
    /// Whether the last decided byte was masked. Then its mask is already written, and further masked bytes
    /// add none.
    in_mask: bool,
}

impl Masker {
    /// Fails only if the secrets together are too large for the search automaton.
    pub fn new<S: AsRef<[u8]>>(secrets: &[S]) -> Result<Self, String> {
        let mut patterns: Vec<Vec<u8>> = secrets
            .iter()
            .map(AsRef::as_ref)
            .filter(|secret| secret.len() >= MIN_SECRET_BYTES)
            .flat_map(forms)
            .filter(|form| form.len() >= MIN_SECRET_BYTES)
            .collect();
        patterns.sort();
        patterns.dedup();
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        let finder = if patterns.is_empty() {
            None
        } else {
            Some(AhoCorasick::new(&patterns).map_err(|error| error.to_string())?)
        };
        Ok(Masker { patterns, longest, finder, pending: Vec::new(), masked: 0, in_mask: false })
    }

    /// Adds input, and appends to `out` what is decided.
    pub fn push(&mut self, input: &[u8], out: &mut Vec<u8>) {
        if self.finder.is_none() {
            out.extend_from_slice(input);
            return;
        }
        self.pending.extend_from_slice(input);
        let decided = self.first_undecided();
        self.write(decided, out);
    }

    /// Ends the input and writes all pending bytes.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let all = self.pending.len();
        self.write(all, out);
    }

    /// Returns where the first incomplete occurrence may begin.
    fn first_undecided(&self) -> usize {
        let end = self.pending.len();
        let first = end.saturating_sub(self.longest.saturating_sub(1));
        (first..end)
            .find(|&start| {
                let rest = &self.pending[start..];
                self.patterns.iter().any(|pattern| pattern.len() > rest.len() && pattern.starts_with(rest))
            })
            .unwrap_or(end)
    }

    fn write(&mut self, decided: usize, out: &mut Vec<u8>) {
        let Some(finder) = &self.finder else { return };
        // The end of the masked run that contains the current byte, or begins at it.
        let mut masked_until = self.masked;
        let mut written = 0;
        let mut occurrences: Vec<(usize, usize)> =
            finder.find_overlapping_iter(&self.pending).map(|found| (found.start(), found.end())).collect();
        occurrences.sort_unstable();
        let mut occurrences = occurrences.into_iter().filter(|&(start, _)| start < decided).peekable();
        while written < decided {
            while let Some((_, end)) = occurrences.next_if(|&(start, _)| start <= written.max(masked_until)) {
                masked_until = masked_until.max(end);
            }
            if written < masked_until {
                if !self.in_mask {
                    out.extend_from_slice(MASK);
                    self.in_mask = true;
                }
                written = masked_until.min(decided);
            } else {
                let next = occurrences.peek().map_or(decided, |&(start, _)| start);
                out.extend_from_slice(&self.pending[written..next]);
                self.in_mask = false;
                written = next;
            }
        }
        self.pending.drain(..decided);
        self.masked = masked_until.saturating_sub(decided);
    }
}

/// Returns the secret itself and its forms within base64. There the letters depend on the number of bytes
/// before the secret, modulo three. Letters at both ends that also contain bits of neighboring bytes are left
/// out.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.to_vec()];
    for before in 0..3 {
        let mut padded = vec![0; before];
        padded.extend_from_slice(secret);
        // Skip letters with bits of the bytes before, and a last letter that is not complete.
        let skip = (before * 8).div_ceil(6);
        let keep = padded.len() * 8 / 6;
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let letters = engine.encode(&padded).into_bytes();
            forms.push(letters[skip..keep].to_vec());
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use proptest::prelude::*;

    use super::*;

    fn masked(secrets: &[&[u8]], pieces: &[&[u8]]) -> Vec<u8> {
        let mut masker = Masker::new(secrets).unwrap();
        let mut out = Vec::new();
        pieces.iter().for_each(|piece| masker.push(piece, &mut out));
        masker.finish(&mut out);
        out
    }

    /// The specification: mark every byte of every occurrence, then write.
    fn specified(secrets: &[Vec<u8>], text: &[u8]) -> Vec<u8> {
        let mut is_masked = vec![false; text.len()];
        for form in
            secrets.iter().filter(|secret| secret.len() >= MIN_SECRET_BYTES).flat_map(|secret| forms(secret))
        {
            if form.len() < MIN_SECRET_BYTES {
                continue;
            }
            for (start, window) in text.windows(form.len()).enumerate() {
                if window == form {
                    is_masked[start..start + form.len()].fill(true);
                }
            }
        }
        let mut out = Vec::new();
        for (index, byte) in text.iter().enumerate() {
            if !is_masked[index] {
                out.push(*byte);
            } else if index == 0 || !is_masked[index - 1] {
                out.extend_from_slice(MASK);
            }
        }
        out
    }

    #[test]
    fn a_secret_is_masked_wherever_the_input_is_split() {
        let text = b"before hunter22 after";
        for cut in 0..=text.len() {
            assert_eq!(masked(&[b"hunter22"], &[&text[..cut], &text[cut..]]), b"before *** after", "{cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(masked(&[b"hunter22"], &bytes), b"before *** after");
    }

    #[test]
    fn overlapping_secrets_are_masked_completely() {
        assert_eq!(masked(&[b"abcdef", b"defghi"], &[b"-abcdefghi-"]), b"-***-");
        assert_eq!(masked(&[b"aaaaaa"], &[b"-aaaaaaaaaa-"]), b"-***-");
        assert_eq!(masked(&[b"secret", b"secretary"], &[b"the secretary's secret"]), b"the ***'s ***");
    }

    #[test]
    fn an_incomplete_secret_is_not_masked() {
        assert_eq!(masked(&[b"hunter22"], &[b"hunter", b"2 hunt"]), b"hunter2 hunt");
    }

    #[test]
    fn only_a_possible_beginning_of_a_secret_is_held_back() {
        let mut masker = Masker::new(&[b"hunter22"]).unwrap();
        let mut out = Vec::new();
        masker.push(b"Password: ", &mut out);
        assert_eq!(out, b"Password: ");
        masker.push(b"hunt", &mut out);
        assert_eq!(out, b"Password: ");
    }

    #[test]
    fn a_short_value_is_not_masked() {
        assert_eq!(masked(&[b"12345", b""], &[b"12345"]), b"12345");
        assert_eq!(masked(&[b"123456"], &[b"123456"]), b"***");
    }

    #[test]
    fn base64_forms_are_masked() {
        let secret = b"correct horse battery";
        for before in 0..7 {
            for after in 0..4 {
                let text = [vec![b'<'; before], secret.to_vec(), vec![b'>'; after]].concat();
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let out = masked(&[secret], &[encoded.as_bytes()]);
                    let left = out.len() - MASK.len();
                    // Only the letters of the neighboring bytes are left, and those shared with them.
                    assert!(left <= (before + after) * 8 / 6 + 6, "{} left of {encoded}", left);
                    assert!(out.windows(MASK.len()).any(|window| window == MASK), "{encoded}");
                }
            }
        }
    }

    /// Texts over a small alphabet, in which secrets over the same alphabet occur, overlap and nearly occur.
    fn letters(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![4 => Just(b'a'), 2 => Just(b'b'), 1 => Just(b'\n')], length)
    }

    proptest! {
        #[test]
        fn the_masker_matches_the_specification_for_any_split(
            secrets in proptest::collection::vec(letters(1..12), 0..4),
            text in letters(0..300),
            cuts in proptest::collection::vec(0..300_usize, 0..20),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
            let secret_slices: Vec<&[u8]> = secrets.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(masked(&secret_slices, &pieces), specified(&secrets, &text));
        }

        #[test]
        fn a_secret_never_appears_in_the_output(
            secret in proptest::collection::vec(any::<u8>(), 6..40),
            before in proptest::collection::vec(any::<u8>(), 0..100),
            after in proptest::collection::vec(any::<u8>(), 0..100),
            piece in 1..50_usize,
        ) {
            prop_assume!(!secret.contains(&b'*'));
            let text = [before, secret.clone(), after].concat();
            let pieces: Vec<&[u8]> = text.chunks(piece).collect();
            let out = masked(&[&secret], &pieces);
            prop_assert!(!out.windows(secret.len()).any(|window| window == secret));
        }

        #[test]
        fn without_secrets_input_is_passed_on_immediately(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..10),
        ) {
            let mut masker = Masker::new::<Vec<u8>>(&[]).unwrap();
            let mut out = Vec::new();
            for (count, piece) in pieces.iter().enumerate() {
                masker.push(piece, &mut out);
                prop_assert_eq!(&out, &pieces[..=count].concat());
            }
        }
    }
}
