//! Takes secrets out of a log before it leaves this machine. Works on a stream: a secret may come in pieces, and what has
//! been let through is final.
//!
//! Every byte that belongs to an occurrence of a secret is hidden, also where occurrences overlap; each unbroken run of
//! hidden bytes becomes one `***`. Besides a secret itself its base64 forms are hidden, wherever in a longer text
//! the secret stood when that was encoded. What has fewer than six bytes is not hidden: it would be found everywhere, and
//! the holes would give it away.

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

const SHORTEST: usize = 6;
const MASK: &[u8] = b"***";

/// With no secrets it lets everything through as it comes.
#[derive(Debug)]
pub struct Masker {
    patterns: Vec<Vec<u8>>,
    longest: usize,
    /// None if there is nothing to look for.
    finder: Option<AhoCorasick>,
    /// What came and may still turn out to begin a secret.
    held: Vec<u8>,
    /// How many of the held bytes belong to a secret that began before them.
    hidden: usize,
    /// Whether the last byte let through was a hidden one, so that its mask is already written.
    in_mask: bool,
}

impl Masker {
    /// Fails only if the secrets are too large to be searched for, together.
    pub fn new<S: AsRef<[u8]>>(secrets: &[S]) -> Result<Self, String> {
        let mut patterns: Vec<Vec<u8>> = secrets
            .iter()
            .map(AsRef::as_ref)
            .filter(|secret| secret.len() >= SHORTEST)
            .flat_map(forms)
            .filter(|form| form.len() >= SHORTEST)
            .collect();
        patterns.sort();
        patterns.dedup();
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        let finder = if patterns.is_empty() {
            None
        } else {
            Some(AhoCorasick::new(&patterns).map_err(|error| error.to_string())?)
        };
        Ok(Masker { patterns, longest, finder, held: Vec::new(), hidden: 0, in_mask: false })
    }

    /// Takes what came, and appends to `out` what can be let through.
    pub fn push(&mut self, input: &[u8], out: &mut Vec<u8>) {
        if self.finder.is_none() {
            out.extend_from_slice(input);
            return;
        }
        self.held.extend_from_slice(input);
        let decided = self.undecided_from();
        self.let_through(decided, out);
    }

    /// Nothing more comes: what was held is let through too.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let all = self.held.len();
        self.let_through(all, out);
    }

    /// Where the first occurrence may begin that has not come to its end yet.
    fn undecided_from(&self) -> usize {
        let end = self.held.len();
        let first = end.saturating_sub(self.longest.saturating_sub(1));
        (first..end)
            .find(|&start| {
                let rest = &self.held[start..];
                self.patterns.iter().any(|pattern| pattern.len() > rest.len() && pattern.starts_with(rest))
            })
            .unwrap_or(end)
    }

    fn let_through(&mut self, decided: usize, out: &mut Vec<u8>) {
        let Some(finder) = &self.finder else { return };
        // How far the hidden run goes that began before or at the byte under consideration.
        let mut hidden_until = self.hidden;
        let mut written = 0;
        let mut occurrences: Vec<(usize, usize)> =
            finder.find_overlapping_iter(&self.held).map(|found| (found.start(), found.end())).collect();
        occurrences.sort_unstable();
        let mut occurrences = occurrences.into_iter().filter(|&(start, _)| start < decided).peekable();
        while written < decided {
            while let Some((_, end)) = occurrences.next_if(|&(start, _)| start <= written.max(hidden_until)) {
                hidden_until = hidden_until.max(end);
            }
            if written < hidden_until {
                if !self.in_mask {
                    out.extend_from_slice(MASK);
                    self.in_mask = true;
                }
                written = hidden_until.min(decided);
            } else {
                let next = occurrences.peek().map_or(decided, |&(start, _)| start);
                out.extend_from_slice(&self.held[written..next]);
                self.in_mask = false;
                written = next;
            }
        }
        self.held.drain(..decided);
        self.hidden = hidden_until.saturating_sub(decided);
    }
}

/// The secret as it is, and what it looks like inside of base64. There the letters depend on how many bytes stood
/// before it: three cases. The letters at both ends that are also made of its neighbours' bits are left out.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.to_vec()];
    for before in 0..3 {
        let mut padded = vec![0; before];
        padded.extend_from_slice(secret);
        // Of the first letters, those with bits of what stood before; of the last, one that is not full.
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

    /// The same, said as plainly as possible: mark every byte of every occurrence, then write.
    fn specified(secrets: &[Vec<u8>], text: &[u8]) -> Vec<u8> {
        let mut hidden = vec![false; text.len()];
        for form in secrets.iter().filter(|secret| secret.len() >= SHORTEST).flat_map(|secret| forms(secret))
        {
            if form.len() < SHORTEST {
                continue;
            }
            for (start, window) in text.windows(form.len()).enumerate() {
                if window == form {
                    hidden[start..start + form.len()].fill(true);
                }
            }
        }
        let mut out = Vec::new();
        for (index, byte) in text.iter().enumerate() {
            if !hidden[index] {
                out.push(*byte);
            } else if index == 0 || !hidden[index - 1] {
                out.extend_from_slice(MASK);
            }
        }
        out
    }

    #[test]
    fn a_secret_is_hidden_wherever_it_is_cut() {
        let text = b"before hunter22 after";
        for cut in 0..=text.len() {
            assert_eq!(masked(&[b"hunter22"], &[&text[..cut], &text[cut..]]), b"before *** after", "{cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(masked(&[b"hunter22"], &bytes), b"before *** after");
    }

    #[test]
    fn overlapping_secrets_leave_nothing_of_either() {
        assert_eq!(masked(&[b"abcdef", b"defghi"], &[b"-abcdefghi-"]), b"-***-");
        assert_eq!(masked(&[b"aaaaaa"], &[b"-aaaaaaaaaa-"]), b"-***-");
        assert_eq!(masked(&[b"secret", b"secretary"], &[b"the secretary's secret"]), b"the ***'s ***");
    }

    #[test]
    fn what_only_begins_like_a_secret_is_let_through() {
        assert_eq!(masked(&[b"hunter22"], &[b"hunter", b"2 hunt"]), b"hunter2 hunt");
    }

    #[test]
    fn nothing_is_held_back_that_cannot_begin_a_secret() {
        let mut masker = Masker::new(&[b"hunter22"]).unwrap();
        let mut out = Vec::new();
        masker.push(b"Password: ", &mut out);
        assert_eq!(out, b"Password: ");
        masker.push(b"hunt", &mut out);
        assert_eq!(out, b"Password: ");
    }

    #[test]
    fn a_short_value_is_not_hidden() {
        assert_eq!(masked(&[b"12345", b""], &[b"12345"]), b"12345");
        assert_eq!(masked(&[b"123456"], &[b"123456"]), b"***");
    }

    #[test]
    fn base64_hides_no_secret() {
        let secret = b"correct horse battery";
        for before in 0..7 {
            for after in 0..4 {
                let text = [vec![b'<'; before], secret.to_vec(), vec![b'>'; after]].concat();
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let out = masked(&[secret], &[encoded.as_bytes()]);
                    let left = out.len() - MASK.len();
                    // Only what its neighbours are made of is left, and the letters shared with them.
                    assert!(left <= (before + after) * 8 / 6 + 6, "{} left of {encoded}", left);
                    assert!(out.windows(MASK.len()).any(|window| window == MASK), "{encoded}");
                }
            }
        }
    }

    /// Texts of few letters, in which secrets of the same letters occur, overlap and nearly occur.
    fn letters(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![4 => Just(b'a'), 2 => Just(b'b'), 1 => Just(b'\n')], length)
    }

    proptest! {
        #[test]
        fn it_does_what_is_specified_however_the_text_is_cut(
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
        fn a_planted_secret_never_comes_out(
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
        fn without_secrets_everything_comes_out_at_once(
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
