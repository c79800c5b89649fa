//! `cargo xtask openapi`: openapi/api.json is what the server's code says, checked in so that a change of the
//! API is seen in review, and so that clients are generated from a file.

use std::fs;

use anyhow::{Context, bail, ensure};
use serde::de::IgnoredAny;

use crate::say;
use crate::workspace::{self, Workspace};

const FILE: &str = "openapi/api.json";

pub(crate) fn run(workspace: &Workspace, only_check: bool) -> anyhow::Result<()> {
    let arguments = ["run", "-p", "greenroom-server", "--bin", "greenroomd", "--", "openapi"];
    let document = tidy(&workspace::output(&mut workspace.cargo(&arguments))?)?;
    let path = workspace.workspace_root.join(FILE);

    if only_check {
        let written = fs::read_to_string(&path).unwrap_or_default();
        if let Some(difference) = first_difference(&written, &document) {
            bail!("{FILE} is not what the code says. {difference}\nRun `cargo xtask openapi` and commit it.");
        }
        say::answer(format_args!("{FILE} is what the code says."))?;
        return Ok(());
    }

    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(&path, document).with_context(|| format!("cannot write {FILE}"))?;
    say::answer(format_args!("{FILE} is written."))?;
    Ok(())
}

/// The daemon's text as it is, but for the final newline. It is not parsed and written again: whether that keeps
/// the order of keys depends on features that other crates switch on.
fn tidy(printed: &str) -> anyhow::Result<String> {
    let document = printed.trim_end();
    serde_json::from_str::<IgnoredAny>(document)
        .context("`greenroomd openapi` must print one JSON document")?;
    ensure!(
        document.lines().nth(1).is_some(),
        "`greenroomd openapi` must print its document over several lines"
    );
    Ok(format!("{document}\n"))
}

fn first_difference(written: &str, document: &str) -> Option<String> {
    if written == document {
        return None;
    }
    let (mut old, mut new) = (written.lines(), document.lines());
    for number in 1.. {
        let (old, new) = (old.next(), new.next());
        if old != new || old.is_none() {
            let shown = |line: Option<&str>| line.unwrap_or("(nothing)").trim().to_owned();
            return Some(format!("Line {number}:\n  file: {}\n  code: {}", shown(old), shown(new)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_keeps_its_order_and_ends_in_one_newline() {
        assert_eq!(tidy("{\n  \"b\": 1,\n  \"a\": 2\n}\n\n").unwrap(), "{\n  \"b\": 1,\n  \"a\": 2\n}\n");
        assert!(tidy("{\"b\": 1}").unwrap_err().to_string().contains("several lines"));
        assert!(tidy("listening on\n{}").is_err());
    }

    #[test]
    fn a_difference_is_shown_by_its_first_line() {
        assert_eq!(first_difference("{\n}\n", "{\n}\n"), None);
        assert_eq!(first_difference("{\n  1\n}\n", "{\n  2\n}\n").unwrap(), "Line 2:\n  file: 1\n  code: 2");
        assert_eq!(first_difference("", "{\n").unwrap(), "Line 1:\n  file: (nothing)\n  code: {");
        assert_eq!(first_difference("{\n", "{").unwrap(), "Line 2:\n  file: (nothing)\n  code: (nothing)");
    }
}
