//! Rust source files as the walls see them: code without comments, string literals and inline tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::words;

/// Returns the Rust files in a folder and below it, sorted.
pub(super) fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

pub(super) fn read_code(path: &Path) -> anyhow::Result<String> {
    Ok(code(&read(path)?))
}

/// Returns the code of a file with its inline tests.
pub(super) fn read_all_code(path: &Path) -> anyhow::Result<String> {
    Ok(words::rust_code(&read(path)?))
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the code of a file up to its inline tests, which are its last item.
pub(super) fn code(text: &str) -> String {
    let code = words::rust_code(text);
    let mut lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    let is_test_module = |pair: &[&str]| {
        matches!(pair, [attribute, module]
            if *attribute == "#[cfg(test)]" && module.starts_with("mod ") && module.ends_with('{'))
    };
    if let Some(tests) = lines.windows(2).position(is_test_module) {
        lines.truncate(tests);
    }
    lines.join("\n")
}

/// Returns whether the code contains the name as a whole identifier.
pub(super) fn mentions(code: &str, name: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.split(|letter: char| !is_word(letter)).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_inline_tests_are_no_code() {
        let text = "// axum\nuse axum::Body;\nconst A: &str = \"hyper\";\n\n#[cfg(test)]\nmod cases;\nfn f() {}\n\n\
                    #[cfg(test)]\nmod tests {\n    use tower::Service;\n}\n";
        let code = code(text);
        assert!(mentions(&code, "axum") && mentions(&code, "cases") && mentions(&code, "f"), "{code}");
        assert!(!mentions(&code, "hyper") && !mentions(&code, "tower"), "{code}");
        assert!(!mentions(&super::code("// axum"), "axum"));
    }

    #[test]
    fn a_name_is_a_whole_identifier() {
        assert!(mentions("use utoipa::x; axum::Router", "axum"));
        assert!(!mentions("use utoipa_axum::router; fn axums() {}", "axum"));
    }
}
