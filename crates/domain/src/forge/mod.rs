//! Forges: where repositories are hosted, and where pull requests are opened. Which forge serves a repository is decided
//! here, from the repository's URL alone.

mod address;
mod repository;

use crate::text_enum::text_enum;

pub use self::address::{ForgeAddress, InvalidForgeAddress};
pub use self::repository::{ForgeRepository, pattern};
pub use crate::repository_pattern::{InvalidPattern, RepositoryPattern};

/// The maximum number of forges in an organization.
pub const MAX_FORGES: i64 = 50;

/// The maximum number of patterns of repositories of a forge.
pub const MAX_PATTERNS: usize = 50;

/// The longest token of a forge.
pub const MAX_TOKEN_BYTES: usize = 4096;

/// The dialect that a forge speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForgeKind {
    /// github.com, or GitHub Enterprise.
    Github,
    /// Forgejo or Gitea.
    Forgejo,
}

text_enum!(ForgeKind { Github = "github", Forgejo = "forgejo" });

/// Returns whether a text can be the token of a forge: it is sent in a header.
pub fn is_token(text: &str) -> bool {
    (1..=MAX_TOKEN_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the subject of a forge's events.
pub fn subject(name: &str) -> String {
    format!("forges/{name}")
}

/// Returns the forge that serves a repository: the one with the most specific pattern that the repository matches, and
/// of several with equal patterns the first one. `None` if no forge serves it.
pub fn serving<'a, T>(
    forges: impl IntoIterator<Item = (T, &'a [RepositoryPattern])>,
    repository: &ForgeRepository,
) -> Option<T> {
    let mut best: Option<(usize, T)> = None;
    for (forge, patterns) in forges {
        let Some(parts) = RepositoryPattern::most_specific(patterns, repository.path()) else { continue };
        if best.as_ref().is_none_or(|(most, _)| parts > *most) {
            best = Some((parts, forge));
        }
    }
    best.map(|(_, forge)| forge)
}

#[cfg(test)]
mod tests;
