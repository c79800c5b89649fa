//! The names that the current definitions of pipelines contain. A name in a request that is not among them is mistyped, or
//! meant for later.

use crate::definition::{NO_ENVIRONMENT, nearest};

/// All names of some pipelines, without duplicates, each list sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownNames {
    /// Lasting environments.
    pub lasting: Vec<String>,
    /// Ephemeral environments, and templates such as `pr-*`.
    pub ephemeral: Vec<String>,
    /// Pools that stages or runners name.
    pub pools: Vec<String>,
    /// Branches that lasting environments name.
    pub branches: Vec<String>,
}

/// A name that matches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    pub name: String,
    /// The nearest known name.
    pub suggestion: Option<String>,
}

impl KnownNames {
    /// Returns the names that are no lasting environment.
    pub fn unknown_lasting<'a, S: AsRef<str> + ?Sized + 'a>(
        &self,
        names: impl IntoIterator<Item = &'a S>,
    ) -> Vec<UnknownName> {
        unknown(names, |name| self.lasting.iter().any(|known| known == name), &[&self.lasting])
    }

    /// Returns the entries that match no environment. An entry may be a template, or `none`.
    pub fn unknown_environments<'a, S: AsRef<str> + ?Sized + 'a>(
        &self,
        entries: impl IntoIterator<Item = &'a S>,
    ) -> Vec<UnknownName> {
        let is_known = |entry: &str| {
            entry == NO_ENVIRONMENT
                || self.lasting.iter().chain(&self.ephemeral).any(|known| overlaps(entry, known))
        };
        unknown(entries, is_known, &[&self.lasting, &self.ephemeral])
    }

    /// Returns the pools that no runner and no stage names.
    pub fn unknown_pools<'a, S: AsRef<str> + ?Sized + 'a>(
        &self,
        names: impl IntoIterator<Item = &'a S>,
    ) -> Vec<UnknownName> {
        unknown(names, |name| self.pools.iter().any(|known| known == name), &[&self.pools])
    }

    /// Returns the branches that resemble one that a definition names, without being it. Other branches may exist: the
    /// server has no list of those of a repository.
    pub fn doubtful_branches<'a, S: AsRef<str> + ?Sized + 'a>(
        &self,
        names: impl IntoIterator<Item = &'a S>,
    ) -> Vec<UnknownName> {
        let is_known = |name: &str| self.branches.iter().any(|known| known == name);
        let mut doubtful = unknown(names, is_known, &[&self.branches]);
        doubtful.retain(|unknown| unknown.suggestion.is_some());
        doubtful
    }
}

fn unknown<'a, S: AsRef<str> + ?Sized + 'a>(
    names: impl IntoIterator<Item = &'a S>,
    is_known: impl Fn(&str) -> bool,
    known: &[&[String]],
) -> Vec<UnknownName> {
    let unknown = names.into_iter().map(AsRef::as_ref).filter(|name: &&str| !is_known(name));
    let with_suggestion = |name: &str| {
        let choices = known.iter().flat_map(|names| names.iter()).map(String::as_str);
        UnknownName { name: name.to_owned(), suggestion: nearest(name, choices).map(str::to_owned) }
    };
    unknown.map(with_suggestion).collect()
}

/// Returns whether there is a name that both match. Each is a name, or a template such as `pr-*`.
fn overlaps(entry: &str, known: &str) -> bool {
    match (entry.strip_suffix('*'), known.strip_suffix('*')) {
        (None, None) => entry == known,
        (Some(prefix), None) => known.starts_with(prefix),
        (None, Some(prefix)) => entry.starts_with(prefix),
        (Some(one), Some(other)) => one.starts_with(other) || other.starts_with(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn known() -> KnownNames {
        KnownNames {
            lasting: names(&["production", "staging"]),
            ephemeral: names(&["pr-*", "qa-1", "qa-2"]),
            pools: names(&["cloud", "default"]),
            branches: names(&["main"]),
        }
    }

    fn shown(unknown: &[UnknownName]) -> Vec<(&str, Option<&str>)> {
        unknown.iter().map(|unknown| (unknown.name.as_str(), unknown.suggestion.as_deref())).collect()
    }

    #[test]
    fn a_mistyped_name_has_a_suggestion() {
        let lasting = known().unknown_lasting(&names(&["production", "prodution", "qa-1", "elsewhere"]));
        assert_eq!(shown(&lasting), [("prodution", Some("production")), ("qa-1", None), ("elsewhere", None)]);
        let pools = known().unknown_pools(&names(&["default", "defualt", "gpu"]));
        assert_eq!(shown(&pools), [("defualt", Some("default")), ("gpu", None)]);
        assert_eq!(shown(&KnownNames::default().unknown_lasting(&names(&["a"]))), [("a", None)]);
    }

    #[test]
    fn templates_match_what_they_overlap_with() {
        for entry in ["none", "staging", "qa-1", "pr-*", "pr-17", "pr-1*", "p*", "qa-*", "prod*"] {
            assert!(known().unknown_environments(&names(&[entry])).is_empty(), "{entry}");
        }
        let unknown = known().unknown_environments(&names(&["qa-11", "load-*", "prodution"]));
        assert_eq!(
            shown(&unknown),
            [("qa-11", Some("qa-1")), ("load-*", None), ("prodution", Some("production"))]
        );
    }

    #[test]
    fn only_a_branch_that_resembles_a_named_one_is_doubtful() {
        let doubtful = known().doubtful_branches(&names(&["main", "mian", "release/2.0"]));
        assert_eq!(shown(&doubtful), [("mian", Some("main"))]);
    }
}
