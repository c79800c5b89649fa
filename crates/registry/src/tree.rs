//! The files in the folder of a step. Pure.

use crate::bounds::Bounds;
use crate::error::{ForbiddenEntry, RegistryError};
use crate::object_id::ObjectId;

const MAX_PATH_BYTES: usize = 255;
const MANIFEST: &str = "step.yaml";
/// What `ls-tree` prints for one file beside its path.
const MAX_ENTRY_BYTES: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    Regular,
    Executable,
}

impl FileMode {
    /// Returns the mode as in git: `100644` or `100755`.
    pub const fn as_octal(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
        }
    }

    pub(crate) const fn permissions(self) -> u32 {
        match self {
            Self::Regular => 0o644,
            Self::Executable => 0o755,
        }
    }
}

/// A file of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFile {
    /// Relative to the folder of the step, with `/`.
    pub path: String,
    pub mode: FileMode,
    pub bytes: Vec<u8>,
    pub sha256: [u8; 32],
}

/// A file whose content has not been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) mode: FileMode,
    pub(crate) object: ObjectId,
    pub(crate) size: u64,
}

/// Returns how much `ls-tree` may print. A tree can contain itself many times over, so that its list is larger than
/// anything.
pub(crate) fn max_list_bytes(bounds: &Bounds) -> usize {
    (bounds.max_files + 1) * (MAX_PATH_BYTES + MAX_ENTRY_BYTES)
}

/// Parses what `ls-tree -r -z -l` prints for the folder of a step, and checks it. The entries are sorted by path.
pub(crate) fn parse_tree(printed: &[u8], folder: &str, bounds: &Bounds) -> Result<Vec<Entry>, RegistryError> {
    let mut entries = Vec::new();
    let mut total: u64 = 0;
    for line in printed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let entry = parse_entry(line)?;
        total = total.saturating_add(entry.size);
        entries.push(entry);
        if entries.len() > bounds.max_files {
            return Err(RegistryError::TooManyFiles(bounds.max_files));
        }
        if total > bounds.max_step_bytes {
            return Err(RegistryError::StepTooLarge(bounds.max_step_bytes));
        }
    }
    if !entries.iter().any(|entry| entry.path == MANIFEST) {
        return Err(RegistryError::NoManifest(folder.to_owned()));
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    if entries.windows(2).any(|pair| pair[0].path == pair[1].path) {
        return Err(RegistryError::Malformed("duplicateEntries".to_owned()));
    }
    Ok(entries)
}

/// Parses `MODE TYPE OBJECT SIZE<tab>PATH`.
fn parse_entry(line: &[u8]) -> Result<Entry, RegistryError> {
    let forbidden = |path: &[u8], reason| {
        let shown: String = String::from_utf8_lossy(path).chars().take(MAX_PATH_BYTES).collect();
        let path = shown.escape_debug().to_string();
        RegistryError::Entry { path, reason }
    };
    let tab = line.iter().position(|byte| *byte == b'\t').ok_or(RegistryError::Protocol)?;
    let (fields, path) = (&line[..tab], &line[tab + 1..]);
    let fields = std::str::from_utf8(fields).map_err(|_| RegistryError::Protocol)?;
    let mut fields = fields.split_ascii_whitespace();
    let (mode, _, object, size) = (fields.next(), fields.next(), fields.next(), fields.next());
    let mode = match mode {
        Some("100644") => FileMode::Regular,
        Some("100755") => FileMode::Executable,
        Some("120000") => return Err(forbidden(path, ForbiddenEntry::Link)),
        Some("160000") => return Err(forbidden(path, ForbiddenEntry::Submodule)),
        _ => return Err(forbidden(path, ForbiddenEntry::Mode)),
    };
    let path = std::str::from_utf8(path)
        .ok()
        .filter(|path| is_plain_path(path))
        .ok_or_else(|| forbidden(path, ForbiddenEntry::Path))?;
    Ok(Entry {
        path: path.to_owned(),
        mode,
        object: object.and_then(|text| text.parse().ok()).ok_or(RegistryError::Protocol)?,
        size: size.and_then(|text| text.parse().ok()).ok_or(RegistryError::Protocol)?,
    })
}

/// Accepts only paths that mean the same on every system, and stay in their folder.
fn is_plain_path(path: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && !part.to_ascii_lowercase().starts_with(".git")
            && !part.contains(|letter: char| letter.is_control() || matches!(letter, '\\' | ':'))
    };
    path.len() <= MAX_PATH_BYTES && path.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOB: &str = "blob aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn parse(entries: &[(&str, &str, &str)]) -> Result<Vec<String>, String> {
        let text: String =
            entries.iter().map(|(mode, size, path)| format!("{mode} {BLOB} {size}\t{path}\0")).collect();
        let bounds = Bounds { max_files: 3, max_step_bytes: 1000, ..Bounds::default() };
        parse_tree(text.as_bytes(), "x", &bounds)
            .map(|entries| entries.into_iter().map(|entry| entry.path).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn files_are_sorted() {
        let files =
            [("100644", "10", "step.yaml"), ("100755", "     20", "a/run.sh"), ("100644", "0", "a b")];
        assert_eq!(parse(&files).unwrap(), ["a b", "a/run.sh", "step.yaml"]);
    }

    #[test]
    fn other_entries_are_refused() {
        for (mode, path, reason) in [
            ("120000", "x", "symbolic link"),
            ("160000", "x", "submodule"),
            ("040000", "x", "not a file"),
            ("100664", "x", "not a file"),
            ("100644", "../x", "plain relative path"),
            ("100644", "a/../../x", "plain relative path"),
            ("100644", "./x", "plain relative path"),
            ("100644", "/etc/passwd", "plain relative path"),
            ("100644", "a//x", "plain relative path"),
            ("100644", ".git/config", "plain relative path"),
            ("100644", "a/.GIT/config", "plain relative path"),
            ("100644", ".gitmodules", "plain relative path"),
            ("100644", "a\\..\\x", "plain relative path"),
            ("100644", "c:x", "plain relative path"),
            ("100644", "a\nb", "plain relative path"),
            ("100644", "a\u{1b}[31m", "plain relative path"),
            ("100644", &"x".repeat(256), "plain relative path"),
        ] {
            let error = parse(&[("100644", "1", "step.yaml"), (mode, "1", path)]).unwrap_err();
            assert!(error.contains(reason), "{mode} {path:?}: {error}");
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }

    #[test]
    fn number_and_sizes_are_bounded() {
        let file = |path| ("100644", "1", path);
        assert!(
            parse(&[file("a"), file("b"), file("c"), file("step.yaml")]).unwrap_err().contains("3 files")
        );
        let large = ("100644", "1000", "a");
        assert!(parse(&[large, file("step.yaml")]).unwrap_err().contains("1000 bytes"));
        let huge = ("100644", "18446744073709551615", "a");
        assert!(parse(&[huge, huge, file("step.yaml")]).unwrap_err().contains("1000 bytes"));
        assert!(parse(&[file("a")]).unwrap_err().contains("no file step.yaml"));
        assert!(parse(&[file("step.yaml"), file("step.yaml")]).unwrap_err().contains("duplicateEntries"));
    }
}
