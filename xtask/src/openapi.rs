//! `cargo xtask openapi`: generates openapi/api.json from the server's code. The file is checked in so that
//! reviews show API changes and clients are generated from a file. With `--compare`, lists what breaks a client since
//! an earlier revision of the file.

mod breaking;
mod changes;
mod compare;
mod fields;
mod limits;
mod operation;
mod report;
mod schema;
mod variants;

use std::fs;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::de::IgnoredAny;
use serde_json::Value;

use self::report::Report;
use crate::output;
use crate::workspace::{self, Workspace};

const FILE: &str = "openapi/api.json";

pub(crate) fn run(workspace: &Workspace, only_check: bool) -> anyhow::Result<()> {
    let arguments = ["run", "-p", "greenroom-server", "--bin", "greenroomd", "--", "openapi"];
    let document = normalize(&workspace::output(&mut workspace.cargo(&arguments))?)?;
    let path = workspace.workspace_root.join(FILE);

    if only_check {
        let written = fs::read_to_string(&path).unwrap_or_default();
        if let Some(difference) = first_difference(&written, &document) {
            bail!("{FILE} does not match the code. {difference}\nRun `cargo xtask openapi` and commit it.");
        }
        output::print(format_args!("{FILE} matches the code."))?;
        return Ok(());
    }

    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(&path, document).with_context(|| format!("cannot write {FILE}"))?;
    output::print(format_args!("Wrote {FILE}."))?;
    Ok(())
}

/// Prints what has changed since a git revision. Fails if that breaks a client and is not named in openapi/breaking.md.
pub(crate) fn run_comparison(workspace: &Workspace, revision: &str, is_json: bool) -> anyhow::Result<()> {
    let root = &workspace.workspace_root;
    let read =
        |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"));
    let parse = |text: &str, from: &str| {
        serde_json::from_str::<Value>(text).with_context(|| format!("{FILE} of {from} is not JSON"))
    };
    let mut git = Command::new("git");
    git.args(["show", &format!("{revision}:{FILE}")]).current_dir(root);
    let old = parse(&workspace::output(&mut git)?, revision)?;
    let new = parse(&read(FILE)?, "the checkout")?;
    let entries = breaking::parse(&read(breaking::FILE)?)?;

    let report = Report::new(revision, compare::compare(&old, &new), &entries);
    if is_json {
        output::print(format_args!("{:#}", report.json()))?;
    } else {
        output::print(&report)?;
    }
    ensure!(
        report.unnamed() == 0,
        "{} of these changes break clients and are not named. Undo them, or add an entry for each to {}: its key in \
         backticks, and the reason.",
        report.unnamed(),
        breaking::FILE
    );
    Ok(())
}

/// Returns the daemon's text with exactly one final newline. The text is not parsed and serialized again,
/// because whether that preserves the order of keys depends on features that other crates enable.
fn normalize(printed: &str) -> anyhow::Result<String> {
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
            let or_nothing = |line: Option<&str>| line.unwrap_or("(nothing)").trim().to_owned();
            return Some(format!("Line {number}:\n  file: {}\n  code: {}", or_nothing(old), or_nothing(new)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalize_keeps_key_order_and_ends_with_one_newline() {
        assert_eq!(
            normalize("{\n  \"b\": 1,\n  \"a\": 2\n}\n\n").unwrap(),
            "{\n  \"b\": 1,\n  \"a\": 2\n}\n"
        );
        assert!(normalize("{\"b\": 1}").unwrap_err().to_string().contains("several lines"));
        assert!(normalize("listening on\n{}").is_err());
    }

    #[test]
    fn first_difference_reports_the_first_differing_line() {
        assert_eq!(first_difference("{\n}\n", "{\n}\n"), None);
        assert_eq!(first_difference("{\n  1\n}\n", "{\n  2\n}\n").unwrap(), "Line 2:\n  file: 1\n  code: 2");
        assert_eq!(first_difference("", "{\n").unwrap(), "Line 1:\n  file: (nothing)\n  code: {");
        assert_eq!(first_difference("{\n", "{").unwrap(), "Line 2:\n  file: (nothing)\n  code: (nothing)");
    }
}
