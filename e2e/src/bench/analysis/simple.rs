//! What a person would do without an analysis: the last lines, or the first ones with certain words.

pub(super) const LINE_COUNTS: [usize; 4] = [1, 10, 40, 200];
const WORDS: [&str; 6] = ["error", "fail", "fatal", "exception", "panic", "warn"];

/// Returns whether the decisive line is among the last lines, by `LINE_COUNTS`.
pub(super) fn tail(log: &str, decisive: &str) -> [bool; LINE_COUNTS.len()] {
    let position = log.lines().rev().position(|line| line.contains(decisive));
    within(position)
}

/// Returns whether the decisive line is among the first matches, by `LINE_COUNTS`.
pub(super) fn grep(log: &str, decisive: &str) -> [bool; LINE_COUNTS.len()] {
    let matches = |line: &&str| {
        let line = line.to_lowercase();
        WORDS.iter().any(|word| line.contains(word))
    };
    let position = log.lines().filter(matches).position(|line| line.contains(decisive));
    within(position)
}

fn within(position: Option<usize>) -> [bool; LINE_COUNTS.len()] {
    LINE_COUNTS.map(|count| position.is_some_and(|position| position < count))
}

#[cfg(test)]
mod tests {
    use super::{grep, tail};

    #[test]
    fn the_last_line_is_in_every_tail() {
        assert_eq!(tail("a\nb\n", "b"), [true; 4]);
        assert_eq!(tail("a\nb\n", "a"), [false, true, true, true]);
        assert_eq!(tail("a\nb\n", "c"), [false; 4]);
    }

    #[test]
    fn only_lines_with_the_words_are_matches() {
        assert_eq!(grep("x\nERROR: one\nfatal two\n", "two"), [false, true, true, true]);
        assert_eq!(grep("undefined\n", "undefined"), [false; 4]);
    }
}
