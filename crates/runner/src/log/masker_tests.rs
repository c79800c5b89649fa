//! Tests of the masker: pieces, carry-over, forms.

use proptest::prelude::*;

use super::*;
use crate::log::forms::{ENCODINGS, MIN_BYTES, parts};

fn patterns<S: AsRef<[u8]>>(secrets: &[S]) -> Arc<SecretPatterns> {
    let secrets = secrets.iter().map(|secret| ("secret", secret.as_ref()));
    Arc::new(SecretPatterns::new(secrets).unwrap())
}

fn masked<S: AsRef<[u8]>>(secrets: &[S], pieces: &[&[u8]]) -> Vec<u8> {
    let mut masker = Masker::new(patterns(secrets));
    let mut out = Vec::new();
    pieces.iter().for_each(|piece| masker.push(piece, &mut out));
    masker.finish(&mut out);
    out
}

fn forms(secrets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let parts = secrets.iter().filter(|secret| secret.len() >= MIN_BYTES).flat_map(|secret| parts(secret));
    let forms =
        parts.flat_map(|part| ENCODINGS.iter().flat_map(move |encode| encode(&part)).collect::<Vec<_>>());
    forms.filter(|form| form.len() >= MIN_BYTES).collect()
}

/// The specification: mark every byte of every occurrence, then write.
fn specified(secrets: &[Vec<u8>], text: &[u8]) -> Vec<u8> {
    write_marked(text, &marked(&forms(secrets), text))
}

fn marked(forms: &[Vec<u8>], text: &[u8]) -> Vec<bool> {
    let mut is_masked = vec![false; text.len()];
    for form in forms {
        for (start, window) in text.windows(form.len()).enumerate() {
            if window == form {
                is_masked[start..start + form.len()].fill(true);
            }
        }
    }
    is_masked
}

fn write_marked(text: &[u8], is_masked: &[bool]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, byte) in text.iter().enumerate().take(is_masked.len()) {
        if !is_masked[index] {
            out.push(*byte);
        } else if index == 0 || !is_masked[index - 1] {
            out.extend_from_slice(MASK);
        }
    }
    out
}

fn is_beginning(forms: &[Vec<u8>], rest: &[u8]) -> bool {
    forms.iter().any(|form| form.len() > rest.len() && form.starts_with(rest))
}

/// What has to be written when the input so far is `text`: all but its longest end that is the beginning of
/// a form, and what is already masked.
fn specified_so_far(forms: &[Vec<u8>], text: &[u8]) -> Vec<u8> {
    let mut is_masked = marked(forms, text);
    let undecided = (0..text.len()).find(|&start| is_beginning(forms, &text[start..]));
    let mut decided = undecided.unwrap_or(text.len());
    while is_masked.get(decided) == Some(&true) {
        decided += 1;
    }
    is_masked.truncate(decided);
    write_marked(text, &is_masked)
}

/// The positions and secrets of each change of the patterns.
type Changes = Vec<(usize, Vec<Vec<u8>>)>;

/// The specification with changes: an occurrence of a form is masked if the form was known when the
/// occurrence began, or if nothing of the occurrence was decided when the form became known.
fn specified_with_changes(secrets: &[Vec<u8>], changes: &Changes, text: &[u8]) -> Vec<u8> {
    let mut known = forms(secrets);
    let mut is_masked = marked(&known, text);
    for (position, added) in changes {
        let undecided = (0..*position).find(|&start| is_beginning(&known, &text[start..*position]));
        let from = undecided.unwrap_or(*position);
        let added = forms(added);
        for (index, is_marked) in marked(&added, &text[from..]).into_iter().enumerate() {
            is_masked[from + index] |= is_marked;
        }
        known.extend(added);
    }
    write_marked(text, &is_masked)
}

fn masked_with_changes(
    secrets: &[Vec<u8>],
    changes: &Changes,
    text: &[u8],
    piece: usize,
) -> Result<Vec<u8>, TestCaseError> {
    let mut known = secrets.to_vec();
    let mut masker = Masker::new(patterns(&known));
    let (mut out, mut position) = (Vec::new(), 0);
    for (until, added) in changes.iter().cloned().chain([(text.len(), Vec::new())]) {
        for piece in text[position..until].chunks(piece) {
            masker.push(piece, &mut out);
        }
        position = until;
        known.extend(added);
        masker.replace_patterns(patterns(&known));
        let longest = forms(&known).iter().map(Vec::len).max().unwrap_or(0);
        prop_assert!(masker.held.len() <= 2 * longest);
    }
    masker.finish(&mut out);
    Ok(out)
}

fn pieces<'a>(text: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| (*cut).min(text.len())).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect()
}

#[test]
fn a_secret_is_masked_wherever_the_input_is_split() {
    let text = b"before hunter22 after";
    for cut in 0..=text.len() {
        assert_eq!(masked(&["hunter22"], &[&text[..cut], &text[cut..]]), b"before *** after", "{cut}");
    }
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(masked(&["hunter22"], &bytes), b"before *** after");
}

#[test]
fn overlapping_secrets_are_masked_completely() {
    assert_eq!(masked(&["abcdef", "defghi"], &[b"-abcdefghi-"]), b"-***-");
    assert_eq!(masked(&["aaaaaa"], &[b"-aaaaaaaaaa-"]), b"-***-");
    assert_eq!(masked(&["secret", "secretary"], &[b"the secretary's secret"]), b"the ***'s ***");
}

#[test]
fn a_secret_within_the_beginning_of_another_one_is_masked_as_soon_as_that_is_decided() {
    let text: &[u8] = b"xxhunter22y";
    let mut masker = Masker::new(patterns(&["hunter22", "xxhunter22yyzz"]));
    let mut out = Vec::new();
    masker.push(text, &mut out);
    assert_eq!(out, b"");
    masker.push(b"!", &mut out);
    assert_eq!(out, b"xx***y!");
}

#[test]
fn an_incomplete_secret_is_not_masked() {
    assert_eq!(masked(&["hunter22"], &[b"hunter", b"2 hunt"]), b"hunter2 hunt");
}

#[test]
fn only_a_possible_beginning_of_a_secret_is_held_back() {
    let mut masker = Masker::new(patterns(&["hunter22"]));
    let mut out = Vec::new();
    masker.push(b"Password: ", &mut out);
    assert_eq!(out, b"Password: ");
    masker.push(b"hunt", &mut out);
    assert_eq!(out, b"Password: ");
    masker.push(b"er22", &mut out);
    assert_eq!(out, b"Password: ***");
}

#[test]
fn a_secret_is_masked_if_the_patterns_change_within_it() {
    let text = b"before hunter22 after";
    for cut in 0..=text.len() {
        let mut masker = Masker::new(patterns(&["hunter22"]));
        let mut out = Vec::new();
        masker.push(&text[..cut], &mut out);
        masker.replace_patterns(patterns(&["hunter22", "other-one"]));
        masker.push(&text[cut..], &mut out);
        masker.push(b" other-one", &mut out);
        masker.finish(&mut out);
        assert_eq!(out, b"before *** after ***", "{cut}");
    }
}

#[test]
fn a_change_within_overlapping_occurrences_adds_no_mask() {
    let mut masker = Masker::new(patterns(&["aaaaaa"]));
    let mut out = Vec::new();
    for piece in [b"-aaaaaaa".as_slice(), b"a", b"a-"] {
        masker.push(piece, &mut out);
        masker.replace_patterns(patterns(&["aaaaaa", "hunter22"]));
    }
    masker.finish(&mut out);
    assert_eq!(out, b"-***-");
}

#[test]
fn held_bytes_are_written_if_there_are_no_more_patterns() {
    let mut masker = Masker::new(patterns(&["hunter22"]));
    let mut out = Vec::new();
    masker.push(b"a hunter22 hunt", &mut out);
    masker.replace_patterns(Arc::default());
    masker.push(b"er22 ", &mut out);
    assert_eq!(out, b"a *** hunter22 ");
    masker.replace_patterns(patterns(&["hunter22"]));
    masker.push(b"hunter22", &mut out);
    masker.replace_patterns(Arc::default());
    masker.push(b"-", &mut out);
    masker.replace_patterns(patterns(&["hunter22"]));
    masker.push(b"hunter22", &mut out);
    assert_eq!(out, b"a *** hunter22 ***-***");
}

#[test]
fn a_short_value_is_not_masked() {
    assert_eq!(masked(&["12345", ""], &[b"12345"]), b"12345");
    assert_eq!(masked(&["123456"], &[b"123456"]), b"***");
}

#[test]
fn a_whole_text_is_masked() {
    let patterns = patterns(&["hunter22"]);
    assert_eq!(mask(&patterns, "no such file: hunter22/x, ä"), "no such file: ***/x, ä");
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
        prop_assert_eq!(masked(&secrets, &pieces(&text, &cuts)), specified(&secrets, &text));
    }

    #[test]
    fn nothing_is_held_back_longer_than_necessary(
        secrets in proptest::collection::vec(letters(1..12), 0..4),
        text in letters(0..100),
        cuts in proptest::collection::vec(0..100_usize, 0..20),
    ) {
        let forms = forms(&secrets);
        let longest = forms.iter().map(Vec::len).max().unwrap_or(0);
        let mut masker = Masker::new(patterns(&secrets));
        let (mut out, mut length) = (Vec::new(), 0);
        for piece in pieces(&text, &cuts) {
            masker.push(piece, &mut out);
            length += piece.len();
            prop_assert_eq!(&out, &specified_so_far(&forms, &text[..length]));
            prop_assert!(masker.held.len() <= 2 * longest);
        }
    }

    #[test]
    fn the_masker_matches_the_specification_when_patterns_are_added(
        secrets in proptest::collection::vec(letters(1..12), 0..3),
        text in letters(0..200),
        changes in proptest::collection::btree_map(
            0..200_usize, proptest::collection::vec(letters(1..12), 0..2), 0..4,
        ),
        piece in 1..30_usize,
    ) {
        let changes: Changes =
            changes.into_iter().map(|(position, added)| (position.min(text.len()), added)).collect();
        prop_assert_eq!(
            masked_with_changes(&secrets, &changes, &text, piece)?,
            specified_with_changes(&secrets, &changes, &text)
        );
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
        let mut masker = Masker::new(Arc::default());
        let mut out = Vec::new();
        for (count, piece) in pieces.iter().enumerate() {
            masker.push(piece, &mut out);
            prop_assert_eq!(&out, &pieces[..=count].concat());
        }
    }
}
