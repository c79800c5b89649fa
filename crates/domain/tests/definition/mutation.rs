//! Mutations of the full fixture: every one of them is either valid or results in well-formed diagnostics.

use greenroom_domain::definition::parse;

use super::{FULL, check_diagnostic};

fn check_diagnostics(source: &str) {
    for problem in parse(source).err().unwrap_or_default() {
        check_diagnostic(&problem);
    }
}

/// Two tests, so that two cores can share the work.
#[test]
fn cut_at_every_even_byte() {
    cut_at((0..FULL.len()).step_by(2));
}

#[test]
fn cut_at_every_odd_byte() {
    cut_at((1..FULL.len()).step_by(2));
}

fn cut_at(places: impl Iterator<Item = usize>) {
    for place in places {
        check_diagnostics(FULL.get(..place).unwrap_or_default());
    }
}

#[test]
fn without_each_line_and_with_each_twice() {
    let lines: Vec<&str> = FULL.lines().collect();
    for left_out in 0..lines.len() {
        let kept = lines.iter().enumerate().filter(|(place, _)| *place != left_out);
        check_diagnostics(&kept.map(|(_, line)| format!("{line}\n")).collect::<String>());
        let doubled = lines.iter().enumerate().map(|(place, line)| match place == left_out {
            true => format!("{line}\n{line}\n"),
            false => format!("{line}\n"),
        });
        check_diagnostics(&doubled.collect::<String>());
    }
}

#[test]
fn with_each_word_replaced() {
    let signs = [
        "~", "[]", "{}", "*rust", "&rust", "!!str", "|", "\"", "-", ": ", "\t", "'", "#", "é", "\u{0}", "<<",
    ];
    // The offset of a word is its address minus the address of the text. The compiler may place a copy of a
    // constant at every use, so the text is read from one variable.
    let full = FULL;
    let place_of = |word: &str| word.as_ptr().addr() - full.as_ptr().addr();
    for (place, word) in full.split_whitespace().enumerate() {
        let start = place_of(word);
        let sign = signs[place % signs.len()];
        let (before, after) = (&full[..start], &full[start + word.len()..]);
        check_diagnostics(&format!("{before}{sign}{after}"));
        check_diagnostics(&format!("{before}{sign}{word}{after}"));
    }
}
