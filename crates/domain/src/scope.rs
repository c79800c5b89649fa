//! Scopes: what a token allows, independently of the role of its user. A request needs both the role and the
//! scope.

use std::fmt;

use crate::text_enum::text_enum;

/// One scope. Each action of the policy table needs exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Reading everything but administration.
    Read,
    /// Claiming, renewing, releasing and handing over one's own sessions.
    Hold,
    /// Deploying, canceling and retrying in one's own sessions.
    Deploy,
    /// Starting, canceling and retrying deployments of a whole pipeline.
    Start,
    /// Changing pipelines, ending others' sessions, making tokens.
    Write,
    /// The rest: members, all tokens, audit events, runners, settings.
    Admin,
}

text_enum!(Scope {
    Read = "read",
    Hold = "hold",
    Deploy = "deploy",
    Start = "start",
    Write = "write",
    Admin = "admin",
});

/// A set of scopes, as small as a number, so that a principal carries it without an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Scopes(u8);

impl Scopes {
    pub const ALL: Self = Self::of(Scope::ALL);

    pub const fn of(scopes: &[Scope]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < scopes.len() {
            bits |= 1 << scopes[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the scopes that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the scopes that are in this set and not in the other.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::default(), |set, scope| Self(set.0 | Self::of(&[scope]).0))
    }
}

/// The names of the scopes, separated by spaces: `read hold deploy`.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, scope) in self.iter().enumerate() {
            write!(f, "{}{scope}", if at == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({self})")
    }
}

impl serde::Serialize for Scopes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_its_scopes() {
        let set: Scopes = [Scope::Deploy, Scope::Read, Scope::Read].into_iter().collect();
        assert_eq!(set, Scopes::of(&[Scope::Read, Scope::Deploy]));
        assert_eq!(set.iter().collect::<Vec<_>>(), [Scope::Read, Scope::Deploy]);
        assert_eq!(set.to_string(), "read deploy");
        assert_eq!(serde_json::to_value(set).unwrap(), serde_json::json!(["read", "deploy"]));
    }

    #[test]
    fn sets_are_compared_scope_by_scope() {
        let (narrow, wide) = (Scopes::of(&[Scope::Read]), Scopes::of(&[Scope::Read, Scope::Admin]));
        assert!(narrow.difference(wide).is_empty());
        assert_eq!(wide.difference(narrow), Scopes::of(&[Scope::Admin]));
        assert_eq!(wide.intersection(narrow), narrow);
        assert_eq!(Scopes::ALL.iter().count(), Scope::ALL.len());
    }
}
