//! Whether a stage may begin, as far as its approval decides. Checked before the stage is queued, and again in the transaction
//! that starts its first step.

use jiff::Timestamp;

use crate::digest::SubjectDigest;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// The stage needs no approval.
    Free,
    /// The stage needs an approval, and none is open.
    Wanted,
    /// An approval is open.
    Pending {
        digest: SubjectDigest,
        expires_at: Timestamp,
    },
    /// Approved. The first step has to start before `until`.
    Approved {
        digest: SubjectDigest,
        until: Timestamp,
    },
    Refused(Refusal),
}

/// Why a stage does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    Rejected,
    Expired,
    /// A newer deployment was approved for the same stage and environment.
    Superseded,
}

impl Gate {
    /// Returns the gate of a stage that has not got an approval yet.
    pub const fn planned(needs_approval: bool) -> Self {
        if needs_approval { Self::Wanted } else { Self::Free }
    }

    /// Returns the gate at a time, for what the stage would do now. `present` is `None` if that is not determined yet.
    ///
    /// | Gate       | Subject | In time | Afterwards         |
    /// |------------|---------|---------|--------------------|
    /// | `Pending`  | changed | any     | `Wanted`           |
    /// | `Pending`  | same    | no      | `Refused(Expired)` |
    /// | `Approved` | changed | any     | `Wanted`           |
    /// | `Approved` | same    | no      | `Wanted`           |
    /// | any other  |         |         | unchanged          |
    pub fn settle(self, present: Option<&SubjectDigest>, now: Timestamp) -> Self {
        let is_changed = |digest: &SubjectDigest| present.is_some_and(|present| present != digest);
        match self {
            Self::Pending { digest, .. } | Self::Approved { digest, .. } if is_changed(&digest) => {
                Self::Wanted
            }
            Self::Pending { expires_at, .. } if expires_at <= now => Self::Refused(Refusal::Expired),
            Self::Approved { until, .. } if until <= now => Self::Wanted,
            gate => gate,
        }
    }

    /// Returns whether the stage may begin now. What it would do has to be determined if it needs an approval.
    pub fn permits(&self, present: Option<&SubjectDigest>, now: Timestamp) -> bool {
        match self {
            Self::Free => true,
            Self::Approved { digest, until } => present == Some(digest) && now < *until,
            Self::Wanted | Self::Pending { .. } | Self::Refused(_) => false,
        }
    }

    /// Returns the gate after a retry of the stage, or of one that it needs. A valid approval of the same subject is not
    /// repeated; what was refused needs a new one.
    #[must_use]
    pub fn retried(self) -> Self {
        match self {
            Self::Refused(_) => Self::Wanted,
            gate => gate,
        }
    }

    /// Returns when it changes by itself.
    pub fn changes_at(&self) -> Option<Timestamp> {
        match self {
            Self::Pending { expires_at, .. } => Some(*expires_at),
            Self::Approved { until, .. } => Some(*until),
            Self::Free | Self::Wanted | Self::Refused(_) => None,
        }
    }
}
