//! The limit of a token to some pipelines.

use crate::id::PipelineId;

/// The pipelines that a token can access. To a limited token, other pipelines appear not to exist.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum PipelineLimit {
    #[default]
    All,
    /// Sorted, without duplicates, never empty.
    Only(Vec<PipelineId>),
}

impl PipelineLimit {
    /// `None` or an empty list means all pipelines.
    pub fn new(pipelines: Option<Vec<PipelineId>>) -> Self {
        match pipelines {
            Some(mut pipelines) if !pipelines.is_empty() => {
                pipelines.sort_unstable();
                pipelines.dedup();
                Self::Only(pipelines)
            }
            _ => Self::All,
        }
    }

    pub fn contains(&self, pipeline: PipelineId) -> bool {
        match self {
            Self::All => true,
            Self::Only(pipelines) => pipelines.binary_search(&pipeline).is_ok(),
        }
    }

    /// Returns whether an event with this subject belongs to one of the pipelines. Without a limit every
    /// event does.
    pub fn contains_subject(&self, subject: &str) -> bool {
        let pipeline = || subject.strip_prefix("pipelines/")?.split('/').next()?.parse().ok();
        *self == Self::All || pipeline().is_some_and(|pipeline| self.contains(pipeline))
    }

    /// Returns the ids, or `None` for all pipelines, as queries filter by them.
    pub fn ids(&self) -> Option<&[PipelineId]> {
        match self {
            Self::All => None,
            Self::Only(pipelines) => Some(pipelines),
        }
    }

    pub fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::All) => true,
            (Self::All, Self::Only(_)) => false,
            (Self::Only(pipelines), other) => pipelines.iter().all(|pipeline| other.contains(*pipeline)),
        }
    }
}
