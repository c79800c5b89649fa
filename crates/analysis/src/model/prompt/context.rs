//! What is given to a model about a failure.

/// A failure, as the evidence describes it. Texts may contain anything; they are cleaned, masked and cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureContext {
    pub stage: String,
    pub step: String,
    pub exit_code: Option<i64>,
    /// Why the step ended, such as `step_failed`.
    pub reason: String,
    pub verdict: String,
    pub verdict_because: Vec<String>,
    /// The category that the rules have found without a model.
    pub category: String,
    /// All categories, of which the model selects one.
    pub categories: Vec<String>,
    /// The most important first: what does not fit is left out.
    pub evidence: Vec<EvidenceItem>,
    /// What has changed since the step was good.
    pub changes: Vec<Change>,
    /// The stage's part of the pipeline definition.
    pub definition: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceItem {
    /// A letter and digits, such as `E1`.
    pub id: String,
    pub from_line: u64,
    pub to_line: u64,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Commit,
    Definition,
    Image,
    Runner,
}

impl ChangeKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Definition => "definition",
            Self::Image => "image",
            Self::Runner => "runner",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// A letter and digits, such as `C1`.
    pub id: String,
    pub kind: ChangeKind,
    /// The title of a commit, or what has changed in another way.
    pub title: String,
    pub files: Vec<String>,
}

/// An item can't be referred to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidItem {
    #[error("an id must be a letter and up to 4 digits")]
    Id,
    #[error("two items have the same id")]
    Repeated,
    #[error("there must be categories, of lower-case letters and _")]
    Categories,
}

impl FailureContext {
    /// Checks what becomes part of the schema: ids and categories are ours, and contain nothing else.
    pub(super) fn check(&self) -> Result<(), InvalidItem> {
        let changes = self.changes.iter().map(|change| &change.id);
        let ids: Vec<&String> = self.evidence.iter().map(|item| &item.id).chain(changes).collect();
        if !ids.iter().all(|id| is_id(id)) {
            return Err(InvalidItem::Id);
        }
        if ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id)) {
            return Err(InvalidItem::Repeated);
        }
        let is_category = |name: &String| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        if self.categories.is_empty() || !self.categories.iter().all(is_category) {
            return Err(InvalidItem::Categories);
        }
        Ok(())
    }
}

fn is_id(id: &str) -> bool {
    let mut bytes = id.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && (1..=4).contains(&bytes.len())
        && bytes.all(|byte| byte.is_ascii_digit())
}
