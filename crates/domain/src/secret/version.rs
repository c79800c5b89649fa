//! The versions of a secret. At most one is active: the one that steps get.
//!
//! | from      | activate            | destroy            |
//! |-----------|---------------------|--------------------|
//! | staged    | active              | destroyed          |
//! | active    | active (unchanged)  | refused            |
//! | retired   | active              | destroyed          |
//! | destroyed | refused             | destroyed (unchanged) |
//!
//! When a version becomes active, the one that was active before is retired.

use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VersionStatus {
    /// It was set in advance, and is not used yet.
    Staged,
    /// Steps get this one.
    Active,
    /// It was active before, and can be again.
    Retired,
    /// Its value was deleted.
    Destroyed,
}

text_enum!(VersionStatus {
    Staged = "staged",
    Active = "active",
    Retired = "retired",
    Destroyed = "destroyed",
});

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionRefusal {
    #[error("its value was destroyed")]
    Destroyed,
    #[error("it is the active version: set another value or activate another version first")]
    Active,
}

/// Returns the status of a version after it was activated.
pub const fn activated(status: VersionStatus) -> Result<VersionStatus, VersionRefusal> {
    match status {
        VersionStatus::Staged | VersionStatus::Active | VersionStatus::Retired => Ok(VersionStatus::Active),
        VersionStatus::Destroyed => Err(VersionRefusal::Destroyed),
    }
}

/// Returns the status of a version after its value was destroyed.
pub const fn destroyed(status: VersionStatus) -> Result<VersionStatus, VersionRefusal> {
    match status {
        VersionStatus::Active => Err(VersionRefusal::Active),
        VersionStatus::Staged | VersionStatus::Retired | VersionStatus::Destroyed => {
            Ok(VersionStatus::Destroyed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_and_command() {
        use VersionStatus::{Active, Destroyed, Retired, Staged};
        for (from, activate, destroy) in [
            (Staged, Ok(Active), Ok(Destroyed)),
            (Active, Ok(Active), Err(VersionRefusal::Active)),
            (Retired, Ok(Active), Ok(Destroyed)),
            (Destroyed, Err(VersionRefusal::Destroyed), Ok(Destroyed)),
        ] {
            assert_eq!((activated(from), destroyed(from)), (activate, destroy), "{from}");
        }
    }
}
