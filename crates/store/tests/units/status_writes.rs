//! Tests that every statement which decides a status by itself is listed in ADR 6. All others write what the
//! domain returns, as a parameter.

use std::path::{Path, PathBuf};

const ADR: &str = include_str!("../../../../docs/adr/0006-the-workflow-asks-postgresql.md");

/// How a statement begins that writes a constant as a status.
const CONSTANTS: [&str; 2] = ["set status = '", "set status = case"];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn every_status_that_sql_decides_is_in_adr_6() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = 0;
    for path in files(&package.join("src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        if !CONSTANTS.iter().any(|constant| text.contains(constant)) {
            continue;
        }
        let name = format!("`crates/store/{}`", path.strip_prefix(package).unwrap().display());
        assert!(ADR.contains(&name), "ADR 6 does not list {name}");
        found += 1;
    }
    assert!(found > 0);
}

#[test]
fn every_file_in_adr_6_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = ADR.split('`').filter(|part| part.starts_with("crates/") && !part.contains(' '));
    for name in names {
        assert!(root.join(name).exists(), "ADR 6 lists {name}, which does not exist");
    }
}
