//! `If-Match`: a change that is meant for the record as its author saw it.

use crate::app::failure::{Code, Failure};

/// Which revisions of a record a change is meant for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IfMatch {
    #[default]
    Any,
    /// Tags that are no revision of ours match nothing.
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
