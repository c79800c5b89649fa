//! Problems of a definition: the diagnostic, the path to its position, and the collector.

use std::fmt;

use serde::Serialize;

use super::limits;
use super::located::Position;

/// One problem, with a message for the author of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// Starts at 1.
    pub line: u32,
    /// Starts at 1, in characters.
    pub column: u32,
    /// JSON pointer to the value (or to the key, if that is what is wrong); empty for the whole file.
    pub pointer: String,
    pub message: String,
    /// The valid values, if they can be listed.
    pub expected: Vec<String>,
    /// The nearest valid value.
    pub suggestion: Option<String>,
}

impl Diagnostic {
    pub(crate) fn new(at: Position, pointer: String, message: impl Into<String>) -> Self {
        let Position { line, column } = at;
        Self { line, column, pointer, message: message.into(), expected: Vec::new(), suggestion: None }
    }

    /// Adds the valid values, and suggests the nearest of them.
    pub(crate) fn choices<'a>(mut self, written: &str, choices: impl IntoIterator<Item = &'a str>) -> Self {
        self.expected = choices.into_iter().map(str::to_owned).collect();
        let nearest = super::nearest::nearest(written, self.expected.iter().map(String::as_str));
        let nearest = nearest.map(str::to_owned);
        self.suggest(nearest)
    }

    pub(crate) fn suggest(mut self, choice: Option<String>) -> Self {
        if let Some(choice) = &choice {
            self.message = format!("{}; did you mean `{choice}`?", self.message);
        }
        self.suggestion = choice;
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

/// The kind of file that is parsed, for messages about all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Definition,
    /// `step.yaml`, the manifest of a step.
    Manifest,
}

impl Document {
    pub(crate) const fn root(self) -> Path<'static> {
        match self {
            Self::Definition => Path::Root,
            Self::Manifest => Path::ManifestRoot,
        }
    }

    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Definition => "the definition",
            Self::Manifest => "the manifest",
        }
    }
}

/// A position in the file. It consists of borrowed links, so that the text is only created for a
/// problem.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The root of a definition.
    Root,
    ManifestRoot,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) const fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    pub(crate) const fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }

    pub(crate) fn pointer(&self) -> String {
        match self {
            Self::Root | Self::ManifestRoot => String::new(),
            Self::Key(parent, key) => format!("{}/{}", parent.pointer(), escape(key)),
            Self::Index(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }

    /// Returns the subject of a sentence about the value.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Root => Document::Definition.noun().to_owned(),
            Self::ManifestRoot => Document::Manifest.noun().to_owned(),
            Self::Key(_, key) => quote(key),
            Self::Index(list, index) => format!("item {} of {}", index + 1, list.subject()),
        }
    }

    /// Returns the kind of structure, or the subject for any other value.
    pub(crate) fn noun(&self) -> String {
        let noun = match self {
            Self::Root => Document::Definition.noun(),
            Self::ManifestRoot => Document::Manifest.noun(),
            Self::Key(Self::Key(Self::ManifestRoot, "inputs"), _) => "an input",
            Self::Key(Self::Key(Self::ManifestRoot, "outputs"), _) => "an output",
            Self::Key(Self::Key(Self::Root, "stages"), _) => "a stage",
            Self::Key(Self::Key(Self::Root, "environments"), _) => "an environment",
            Self::Key(Self::Key(Self::Root, "ephemeralEnvironments"), _) => "an ephemeral environment",
            Self::Index(Self::Key(_, "steps"), _) => "a step",
            _ => return self.subject(),
        };
        noun.to_owned()
    }

    /// Returns the path of the structure that contains the value.
    pub(crate) const fn parent(&self) -> &Self {
        match self {
            Self::Root | Self::ManifestRoot => self,
            Self::Key(parent, _) | Self::Index(parent, _) => parent,
        }
    }
}

/// A key as a segment of a JSON pointer (RFC 6901).
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Quotes text of the file for a message: short, and on one line.
pub(crate) fn quote(text: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    let mut short: String = text.chars().take(MAX_CHARACTERS).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        short.push('…');
    }
    format!("`{short}`")
}

/// Collects problems up to the limit.
#[derive(Default)]
pub(crate) struct Report {
    problems: Vec<Diagnostic>,
}

impl Report {
    /// `problem` is only called below the limit, because finding the nearest value is expensive.
    pub(crate) fn add(&mut self, problem: impl FnOnce() -> Diagnostic) {
        if self.problems.len() < limits::DIAGNOSTICS {
            self.problems.push(problem());
        }
    }

    pub(crate) fn error(&mut self, at: Position, path: Path<'_>, message: impl Into<String>) {
        self.add(|| Diagnostic::new(at, path.pointer(), message));
    }

    pub(crate) fn finish<T>(mut self, value: T) -> Result<T, Vec<Diagnostic>> {
        if self.problems.is_empty() {
            return Ok(value);
        }
        self.problems.sort_by_key(|problem| (problem.line, problem.column));
        Err(self.problems)
    }
}
