//! `cargo xtask check-words`: rejects words that make comments and texts hard to read, and names that were
//! replaced. The vocabulary is in `words/vocabulary.rs`. Comments, doc comments, log texts, error texts and
//! `--help` are checked for phrases, code for identifiers. Other string literals, such as SQL, are not
//! checked.

mod finder;
mod rust;
mod scanner;
mod script;
mod vocabulary;

use std::fs;

use anyhow::{Context, bail};

use self::scanner::Line;
use crate::output;
use crate::workspace::Workspace;

/// Folders and files with Rust, Python and shell sources.
const CHECKED: [&str; 6] = ["crates", "e2e", "xtask", "dev", ".ci", "docs/guides"];
const VOCABULARY: &str = "xtask/src/words/vocabulary.rs";

pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    let root = &workspace.workspace_root;
    let (mut findings, mut files) = (Vec::new(), 0_usize);
    for path in workspace.files(&CHECKED)? {
        let bytes = fs::read(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
        if let Some(lines) = std::str::from_utf8(&bytes).ok().and_then(|text| scan(&path, text)) {
            files += 1;
            findings.extend(finder::find(&path, &lines));
        }
    }

    let (open, faults) = finder::apply_exceptions(findings, vocabulary::EXCEPTIONS);
    if open.is_empty() && faults.is_empty() {
        output::print(format_args!("No findings: checked {files} files."))?;
        return Ok(());
    }
    let mut report = faults;
    for finding in &open {
        let text = source_line(&fs::read_to_string(root.join(&finding.path))?, finding.line);
        report.push(format!("{}:{}: `{}`: {text}", finding.path, finding.line, finding.pattern));
    }
    bail!("{} finding(s); the vocabulary is in {VOCABULARY}:\n\n{}", report.len(), report.join("\n"))
}

/// Returns the code of a Rust file. Comments and string literals are blank.
pub(crate) fn rust_code(text: &str) -> String {
    rust::lines(text).iter().map(|line| line.code.as_str()).collect::<Vec<_>>().join("\n")
}

/// Returns the lines of a source file by its name or its first line; `None` for a file in another language.
fn scan(path: &str, text: &str) -> Option<Vec<Line>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let interpreter = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    if name.ends_with(".rs") {
        Some(rust::lines(text))
    } else if name.ends_with(".py") || interpreter.contains("python") {
        Some(script::python_lines(text))
    } else if name.ends_with(".sh") || interpreter.ends_with("sh") {
        Some(script::shell_lines(text))
    } else {
        None
    }
}

fn source_line(text: &str, number: usize) -> String {
    text.lines().nth(number.saturating_sub(1)).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(path: &str, text: &str) -> Option<String> {
        let lines = scan(path, text)?;
        Some(lines.iter().map(|line| line.prose.trim()).collect())
    }

    #[test]
    fn the_language_comes_from_the_name_or_the_first_line() {
        assert_eq!(prose("a/b.rs", "// one\n# two").as_deref(), Some("// one"));
        assert_eq!(prose("a/b.py", "# two\n'''three'''").as_deref(), Some("# twothree"));
        assert_eq!(
            prose("a/b", "#!/usr/bin/env python3\n'''three'''").as_deref(),
            Some("#!/usr/bin/env python3three")
        );
        assert_eq!(prose("a/b", "#!/bin/bash\n'''three'''").as_deref(), Some("#!/bin/bash"));
        assert_eq!(prose("a/b.sql", "-- one"), None);
    }

    #[test]
    fn a_finding_shows_its_source_line() {
        assert_eq!(source_line("one\n  two \n", 2), "two");
        assert_eq!(source_line("one\n", 7), "");
    }
}
