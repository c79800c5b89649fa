//! Handlers are short: they extract, call the use case, and map its result to a response.

use std::path::{Path, PathBuf};

const MAX_LINES: usize = 25;

#[test]
fn no_handler_has_more_than_25_lines() {
    let mut handlers = 0;
    for file in rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (name, lines) in handlers_in(&text) {
            assert!(lines <= MAX_LINES, "{}: {name} has {lines} lines", file.display());
            handlers += 1;
        }
    }
    assert!(handlers > 50, "only {handlers} handlers were found");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let below = folders.iter().flat_map(|folder| rust_files(folder));
    files.into_iter().filter(|file| file.extension().is_some_and(|name| name == "rs")).chain(below).collect()
}

/// Returns the functions with the attribute of an operation, and their numbers of lines.
fn handlers_in(text: &str) -> Vec<(&str, usize)> {
    let mut handlers = Vec::new();
    let mut lines = text.lines();
    while lines.any(|line| line.starts_with("#[utoipa::path(")) {
        let Some(first) = lines.find(|line| line.starts_with("pub async fn ")) else { break };
        let name = first.trim_start_matches("pub async fn ").split('(').next().unwrap_or_default();
        let rest = lines.by_ref().take_while(|line| *line != "}").count();
        handlers.push((name, rest + 2));
    }
    handlers
}
