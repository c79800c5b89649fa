//! A folder of saved queries (one `query-<hash>.json` per query), and the difference between two folders.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

/// File name → text.
#[derive(Debug, Default)]
pub(super) struct SavedQueries(BTreeMap<String, String>);

/// The changes that turn one folder into another, each as (file name, SQL).
#[derive(Debug, Default)]
pub(super) struct Changes {
    missing: Vec<(String, String)>,
    different: Vec<(String, String)>,
    stale: Vec<(String, String)>,
}

impl SavedQueries {
    /// Reads a folder. A missing folder counts as empty.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let context = || format!("cannot read {}", folder.display());
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(SavedQueries::default()),
            entries => entries.with_context(context)?,
        };
        let mut saved = SavedQueries::default();
        for entry in entries {
            let path = entry.with_context(context)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("query-") && name.ends_with(".json") {
                saved.0.insert(name, fs::read_to_string(&path).with_context(context)?);
            }
        }
        Ok(saved)
    }

    /// Makes the folder contain exactly these queries; unchanged files are not touched.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let changes = SavedQueries::read(folder)?.changes_to(self);
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for (name, _) in changes.missing.iter().chain(&changes.different) {
            let text = self.0.get(name).map_or("", String::as_str);
            fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
        }
        for (name, _) in &changes.stale {
            fs::remove_file(folder.join(name)).with_context(|| format!("cannot remove {name}"))?;
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn changes_to(&self, other: &SavedQueries) -> Changes {
        let mut changes = Changes::default();
        for (name, text) in &other.0 {
            let change = (name.clone(), sql(text));
            match self.0.get(name) {
                None => changes.missing.push(change),
                Some(mine) if mine != text => changes.different.push(change),
                Some(_) => {}
            }
        }
        let stale = self.0.iter().filter(|(name, _)| !other.0.contains_key(*name));
        changes.stale = stale.map(|(name, text)| (name.clone(), sql(text))).collect();
        changes
    }
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.different.is_empty() && self.stale.is_empty()
    }

    pub(super) fn counts(&self) -> String {
        format!("{} new, {} changed, {} gone", self.missing.len(), self.different.len(), self.stale.len())
    }

    /// Returns one entry per query with its file name.
    pub(super) fn list(&self) -> String {
        let mut text = String::new();
        for (what, queries) in
            [("missing", &self.missing), ("different", &self.different), ("no longer used", &self.stale)]
        {
            for (name, sql) in queries {
                let _ = writeln!(text, "  {what}: {sql}\n    {name}");
            }
        }
        text
    }
}

/// Returns the beginning of a saved query's SQL on one line, to identify it in messages.
fn sql(text: &str) -> String {
    #[derive(Deserialize)]
    struct Query {
        query: String,
    }
    let query =
        serde_json::from_str(text).map_or_else(|_| "(no saved query)".to_owned(), |saved: Query| saved.query);
    let words: Vec<&str> = query.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(queries: &[(&str, &str)]) -> SavedQueries {
        SavedQueries(queries.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn folders_are_compared_query_by_query() {
        let old = saved(&[("a", r#"{"query": "select 1"}"#), ("b", "{}"), ("c", r#"{"query": "select 3"}"#)]);
        let new = saved(&[
            ("a", r#"{"query": "select\n  1", "x": 1}"#),
            ("b", "{}"),
            ("d", r#"{"query": "select 4"}"#),
        ]);
        assert!(old.changes_to(&old).is_empty());
        assert_eq!(
            old.changes_to(&new).list(),
            "  missing: select 4\n    d\n  different: select 1\n    a\n  no longer used: select 3\n    c\n"
        );
    }

    #[test]
    fn a_long_query_is_cut_at_a_character_boundary() {
        let long = format!(r#"{{"query": "{}"}}"#, "é".repeat(200));
        assert_eq!(sql(&long), format!("{}…", "é".repeat(100)));
        assert_eq!(sql("not JSON"), "(no saved query)");
    }

    #[test]
    fn write_makes_the_folder_contain_exactly_the_queries() {
        let folder = std::env::temp_dir().join(format!("greenroom-saved-{}", std::process::id()));
        let stored = || SavedQueries::read(&folder).unwrap().0;
        let new = |queries: &[(&str, &str)]| {
            saved(queries).write(&folder).unwrap();
            assert_eq!(stored(), saved(queries).0);
        };
        assert!(stored().is_empty());
        new(&[("query-a.json", "1"), ("query-b.json", "2")]);
        new(&[("query-a.json", "3")]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
