//! Paths of a step's files. They come from a registry, and a runner writes them to its disk.

use std::fmt;

use crate::text;

const MAX_SEGMENT_BYTES: usize = 255;
const MAX_PATH_BYTES: usize = 1024;

/// A path that starts at the step's folder and can't lead out of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepPath(String);

/// Why a path is rejected, as the predicate of a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    #[error("is not UTF-8")]
    Encoding,
    #[error("is longer than {MAX_PATH_BYTES} bytes, or a part of it longer than {MAX_SEGMENT_BYTES}")]
    TooLong,
    #[error("has an empty part, `.` or `..`, so that it is not a path below the step's folder")]
    Segment,
    #[error("has a `\\`, which is a separator on some systems")]
    Backslash,
    #[error("has a control character, or one that changes the direction of writing")]
    Hidden,
    #[error("has a part `.git`, which git would use as a repository")]
    Git,
}

impl StepPath {
    pub fn new(path: &str) -> Result<Self, InvalidPath> {
        if path.len() > MAX_PATH_BYTES || path.split('/').any(|part| part.len() > MAX_SEGMENT_BYTES) {
            return Err(InvalidPath::TooLong);
        }
        // A path that starts or ends with `/` has an empty part.
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(InvalidPath::Segment);
        }
        if path.contains('\\') {
            return Err(InvalidPath::Backslash);
        }
        if path.chars().any(text::is_hidden) {
            return Err(InvalidPath::Hidden);
        }
        if path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(InvalidPath::Git);
        }
        Ok(Self(path.to_owned()))
    }

    /// Checks a path as git lists it.
    pub fn from_bytes(path: &[u8]) -> Result<Self, InvalidPath> {
        Self::new(std::str::from_utf8(path).map_err(|_| InvalidPath::Encoding)?)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StepPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        let (segment, path) = ("a".repeat(255), ["a"; 512].join("/"));
        for good in [
            "step.yaml",
            "bin/run.sh",
            "a b/ä.txt",
            ".gitignore",
            ".github/x",
            "..a",
            "a..",
            "...",
            "-rf",
            &segment,
            &path,
        ] {
            assert_eq!(StepPath::new(good).unwrap().as_str(), good);
        }
        let (long_segment, long_path) = ("a".repeat(256), format!("{path}/aa"));
        for (bad, reason) in [
            ("", InvalidPath::Segment),
            ("/etc/passwd", InvalidPath::Segment),
            ("../x", InvalidPath::Segment),
            ("a/../../x", InvalidPath::Segment),
            ("a/..", InvalidPath::Segment),
            ("./a", InvalidPath::Segment),
            ("a/", InvalidPath::Segment),
            ("a//b", InvalidPath::Segment),
            ("a\\b", InvalidPath::Backslash),
            ("..\\x", InvalidPath::Backslash),
            ("a\0", InvalidPath::Hidden),
            ("a\nb", InvalidPath::Hidden),
            ("a\u{1b}[2J", InvalidPath::Hidden),
            ("a\u{202e}hs.b", InvalidPath::Hidden),
            (".git", InvalidPath::Git),
            (".git/config", InvalidPath::Git),
            ("a/.GiT/hooks/x", InvalidPath::Git),
            (&long_segment, InvalidPath::TooLong),
            (&long_path, InvalidPath::TooLong),
        ] {
            assert_eq!(StepPath::new(bad), Err(reason), "{bad:?}");
        }
        assert_eq!(StepPath::from_bytes(b"a\xff"), Err(InvalidPath::Encoding));
        assert!(StepPath::from_bytes(b"step.yaml").is_ok());
    }
}
