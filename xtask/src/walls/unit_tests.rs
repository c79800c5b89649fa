//! Cargo does not run the tests in the source of a target with `test = false`, and prints nothing about them. So there must
//! be none: the tests of such a crate are in its `tests` folder, and what they need of it is in its module `internals`,
//! which nothing else may use.

use std::path::{Path, PathBuf};

use super::{relative_path, source};
use crate::workspace::{Package, Target};

/// Returns a message for every file with tests that cargo does not run, and for every other use of a module `internals`.
pub(super) fn find_breaches(package: &Package, root: &Path) -> anyhow::Result<Vec<String>> {
    let manifest = relative_path(&package.manifest_path, root);
    let mut breaches = Vec::new();
    for target in package.targets.iter().filter(|target| !target.test) {
        for file in files(package, target)? {
            if has_tests(&source::read_all_code(&file)?) {
                breaches.push(format!(
                    "{} has tests, and cargo does not run them\n  {manifest} has `test = false` for `{}`: move them to the \
                     folder `tests`",
                    relative_path(&file, root),
                    target.name
                ));
            }
        }
    }
    let own = package.name.replace('-', "_");
    for file in package.manifest_path.parent().map(source::files).transpose()?.unwrap_or_default() {
        let code = source::read_all_code(&file)?;
        let used = used_internals(&code);
        if let Some(other) = used.iter().find(|name| **name != own) {
            breaches.push(format!(
                "{} uses {other}::internals, which is for the tests of that crate",
                relative_path(&file, root)
            ));
        }
    }
    Ok(breaches)
}

/// Returns the sources of a library or a program; nothing for tests, benchmarks, examples and build scripts.
fn files(package: &Package, target: &Target) -> anyhow::Result<Vec<PathBuf>> {
    let is_library = |target: &Target| target.kind.iter().any(|kind| kind == "lib" || kind == "proc-macro");
    let is_program = target.kind.iter().any(|kind| kind == "bin");
    let folder = target.src_path.parent();
    match folder {
        // The modules in the folder of a library are its own.
        _ if is_program && package.targets.iter().any(is_library) => Ok(vec![target.src_path.clone()]),
        Some(folder) if is_program || is_library(target) => source::files(folder),
        _ => Ok(Vec::new()),
    }
}

/// Returns whether a function has an attribute such as `#[test]` or `#[tokio::test]`, or something is compiled for tests
/// only. The code must be without comments and strings.
fn has_tests(code: &str) -> bool {
    let compact: String =
        code.replace("#![", "#[").chars().filter(|letter| !letter.is_whitespace()).collect();
    compact.split("#[").skip(1).any(|rest| {
        let attribute = rest.split(']').next().unwrap_or_default();
        let path = attribute.split(['(', '=']).next().unwrap_or_default();
        match path.rsplit("::").next() {
            Some("test") => true,
            Some("cfg" | "cfg_attr") => source::mentions(attribute, "test"),
            _ => false,
        }
    })
}

/// Returns the names before each `::internals`, except `crate`.
fn used_internals(code: &str) -> Vec<&str> {
    let mut parts = code.split("::internals").collect::<Vec<_>>();
    parts.pop();
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let last_word = |part: &&str| part.rfind(|letter| !is_word(letter)).map_or(0, |index| index + 1);
    parts.iter().map(|part| &part[last_word(part)..]).filter(|name| *name != "crate").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_test_is_found() {
        for code in [
            "#[test]\nfn a() {}",
            "    #[tokio::test]\n    async fn a() {}",
            "#[tokio::test(flavor = \"\")]",
            "#[sqlx::test(migrator = \"\")]",
            "#[cfg(test)]\nmod tests;",
            "#[cfg(all(test, unix))]",
            "#![cfg(test)]",
            "#[cfg_attr(test, derive(Debug))]",
            "#[\n    test\n]",
        ] {
            assert!(has_tests(code), "{code}");
        }
        for code in [
            "fn test() {}",
            "#[cfg(unix)]",
            "#[derive(Debug)]\nstruct Test;",
            "let test = [1];",
            "#[cfg(test_only)]",
        ] {
            assert!(!has_tests(code), "{code}");
        }
    }

    #[test]
    fn uses_of_internals_name_their_crate() {
        let code = "use greenroom_server::internals::Rate;\nuse crate::internals;\nmod internals;\nlet a = b_c::internals();";
        assert_eq!(used_internals(code), ["greenroom_server", "b_c"]);
    }
}
