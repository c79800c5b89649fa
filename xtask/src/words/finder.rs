//! Finds the entries of the vocabulary in a scanned file, and applies the exceptions.

use super::scanner::{Line, is_word};
use super::vocabulary::{Exception, MAX_EXCEPTIONS, OLD_NAME_PARTS, OLD_NAMES, PHRASES};

#[derive(Debug, Eq, PartialEq)]
pub(super) struct Finding {
    pub(super) path: String,
    /// Counted from 1.
    pub(super) line: usize,
    /// The entry of the vocabulary.
    pub(super) pattern: &'static str,
}

/// Returns the findings in one file, ordered by line.
pub(super) fn find(path: &str, lines: &[Line]) -> Vec<Finding> {
    let mut found = phrases(lines);
    for (number, line) in (1..).zip(lines) {
        found.extend(old_names(&line.code).into_iter().map(|pattern| (number, pattern)));
    }
    found.sort_unstable();
    found.dedup();
    let finding = |(line, pattern)| Finding { path: path.to_owned(), line, pattern };
    found.into_iter().map(finding).collect()
}

/// Returns (line, phrase) for each occurrence. A phrase may continue on the next line.
fn phrases(lines: &[Line]) -> Vec<(usize, &'static str)> {
    let words: Vec<(usize, String)> = (1..)
        .zip(lines)
        .flat_map(|(number, line)| prose_words(&line.prose).map(move |word| (number, word)))
        .collect();
    let mut found = Vec::new();
    for phrase in PHRASES {
        let parts: Vec<&str> = phrase.split(' ').collect();
        for window in words.windows(parts.len()) {
            let matches =
                parts.iter().zip(window).all(|(part, (_, word))| part.split('/').any(|one| one == word));
            let ends = window.first().zip(window.last());
            if let Some(((first, _), (last, _))) = ends.filter(|_| matches)
                && last - first < parts.len()
            {
                found.push((*first, *phrase));
            }
        }
    }
    found
}

/// Returns the words of a text in lower case, without `'s`. An identifier with `_` is one word.
fn prose_words(prose: &str) -> impl Iterator<Item = String> {
    let words = prose.split(|letter: char| !is_word(letter) && letter != '\'');
    let words = words.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty());
    words.map(|word| {
        let word = word.to_lowercase();
        word.strip_suffix("'s").unwrap_or(&word).to_owned()
    })
}

/// Returns the entry for each identifier that is an old name or has a part of one.
fn old_names(code: &str) -> Vec<&'static str> {
    let identifiers = code.split(|letter: char| !is_word(letter)).filter(|name| !name.is_empty());
    let entry = |name: &str| {
        let whole = OLD_NAMES.iter().find(|old| **old == name);
        let lower = name.to_lowercase();
        whole
            .or_else(|| OLD_NAME_PARTS.iter().find(|old| lower.split('_').any(|part| part == **old)))
            .copied()
    };
    identifiers.filter_map(entry).collect()
}

/// Removes the accepted findings. Returns the remaining ones, and what is wrong with the table of exceptions.
pub(super) fn apply_exceptions(
    findings: Vec<Finding>,
    exceptions: &[Exception],
) -> (Vec<Finding>, Vec<String>) {
    let mut faults = Vec::new();
    if exceptions.len() > MAX_EXCEPTIONS {
        faults
            .push(format!("there are {} exceptions, at most {MAX_EXCEPTIONS} are allowed", exceptions.len()));
    }
    for exception in exceptions {
        let Exception { path, pattern, reason } = exception;
        if reason.trim().is_empty() {
            faults.push(format!("the exception for `{pattern}` in {path} has no reason"));
        }
        if !findings.iter().any(|finding| accepts(exception, finding)) {
            faults.push(format!("the exception for `{pattern}` in {path} is unused: remove it"));
        }
    }
    let is_open = |finding: &Finding| !exceptions.iter().any(|exception| accepts(exception, finding));
    (findings.into_iter().filter(is_open).collect(), faults)
}

fn accepts(exception: &Exception, finding: &Finding) -> bool {
    let is_path = match exception.path.strip_suffix('*') {
        Some(start) => finding.path.starts_with(start),
        None => finding.path == exception.path,
    };
    is_path && finding.pattern == exception.pattern
}

#[cfg(test)]
mod tests {
    use super::super::rust;
    use super::*;

    fn patterns(text: &str) -> Vec<(usize, &'static str)> {
        find("a.rs", &rust::lines(text)).into_iter().map(|finding| (finding.line, finding.pattern)).collect()
    }

    const TELL: &str = "tell/tells/told/telling";

    #[test]
    fn phrases_are_found_in_prose_only() {
        assert_eq!(patterns("// It is Told so.\nlet x = query(\"told\");"), [(1, TELL)]);
        assert_eq!(patterns("info!(\"nobody's lease\")"), [(1, "nobody")]);
        assert!(patterns("// `retold_story`, untold, a nobody_else").is_empty());
    }

    #[test]
    fn a_phrase_may_continue_on_the_next_line() {
        assert_eq!(patterns("// that ran in a former\n// life\n"), [(1, "former life")]);
        assert!(patterns("// a former\n\n\n// life\n").is_empty());
    }

    #[test]
    fn old_names_are_found_in_code_only() {
        assert_eq!(patterns("use store::JobWord;"), [(1, "JobWord")]);
        assert!(patterns("// `JobWord`\nlet x = \"JobWord\"; struct JobWords;").is_empty());
        assert_eq!(patterns("fn a_runner_is_told_once() {}"), [(1, "told")]);
        assert!(patterns("fn the_folder_holds() {}").is_empty());
    }

    const EXCEPTION: Exception = Exception { path: "crates/a/*", pattern: "nobody", reason: "the Unix user" };

    fn finding(path: &str, pattern: &'static str) -> Finding {
        Finding { path: path.to_owned(), line: 1, pattern }
    }

    #[test]
    fn an_exception_accepts_its_pattern_in_its_path() {
        let findings = vec![
            finding("crates/a/src/x.rs", "nobody"),
            finding("crates/a/src/x.rs", "anew"),
            finding("crates/b/src/x.rs", "nobody"),
        ];
        let (open, faults) = apply_exceptions(findings, &[EXCEPTION]);
        assert_eq!(open, [finding("crates/a/src/x.rs", "anew"), finding("crates/b/src/x.rs", "nobody")]);
        assert_eq!(faults, Vec::<String>::new());
    }

    #[test]
    fn an_unused_exception_and_a_long_table_are_faults() {
        let (_, faults) = apply_exceptions(Vec::new(), &[EXCEPTION]);
        assert!(faults[0].contains("is unused"), "{faults:?}");
        let many: Vec<Exception> = std::iter::repeat_with(|| EXCEPTION).take(MAX_EXCEPTIONS + 1).collect();
        let (_, faults) = apply_exceptions(vec![finding("crates/a/x.rs", "nobody")], &many);
        assert_eq!(faults, ["there are 21 exceptions, at most 20 are allowed"]);
    }
}
