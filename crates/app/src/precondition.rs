//! `If-Match`: optimistic concurrency control by the revision of a record.

use crate::failure::{Code, Failure};

/// The precondition of a change: the record must have one of these revisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IfMatch {
    #[default]
    Any,
    /// Tags in the header that are not a revision are left out. If none is left, no record matches.
    Revisions(Vec<i64>),
}

impl IfMatch {
    pub fn check(&self, revision: i64) -> Result<(), Failure> {
        match self {
            Self::Any => Ok(()),
            Self::Revisions(wanted) if wanted.contains(&revision) => Ok(()),
            Self::Revisions(_) => Err(Failure::new(
                Code::PreconditionFailed,
                "The record has changed since you read it. Read it again, look at what changed, and repeat with the new ETag.",
            )),
        }
    }
}
