//! What hostile runners try, and what became of it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::fault::provenance::mark::{Mark, Medium, Place};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Attack {
    /// An artifact of a stage that declares none.
    UndeclaredArtifact,
    /// An artifact with a file that its stage does not declare, or outside of the workspace.
    ArtifactOutsidePaths,
    /// An artifact with a file in git's own folder, perhaps through a link.
    ArtifactBelowGit,
    /// An artifact with a file of the checkout, in a declared folder.
    ArtifactOverCheckout,
    /// An artifact for whichever stage takes it.
    LowerArtifact,
    /// The same with outputs.
    LowerOutput,
    /// The same with a cache.
    LowerCache,
    /// A cache under a key that its stage does not declare.
    UndeclaredCache,
    /// A cache with a file that its stage does not declare.
    CacheOutsidePaths,
    /// A cache for a branch that was not proven.
    ForeignCache,
    /// A cache after a report of a branch that the commit is not on.
    ClaimedBranch,
    /// A report of a branch that the job does not have to prove.
    BranchBySaySo,
    /// A report that a step has succeeded which was not started.
    EndWithoutStart,
    /// The start of the second step before the first one.
    StepOutOfOrder,
    /// The end of a job that has run no step.
    CompleteWithoutSteps,
}

impl Attack {
    pub(super) const ALL: [Self; 15] = [
        Self::UndeclaredArtifact,
        Self::ArtifactOutsidePaths,
        Self::ArtifactBelowGit,
        Self::ArtifactOverCheckout,
        Self::LowerArtifact,
        Self::LowerOutput,
        Self::LowerCache,
        Self::UndeclaredCache,
        Self::CacheOutsidePaths,
        Self::ForeignCache,
        Self::ClaimedBranch,
        Self::BranchBySaySo,
        Self::EndWithoutStart,
        Self::StepOutOfOrder,
        Self::CompleteWithoutSteps,
    ];

    /// Returns by which attack a mark has reached a job that must not have it.
    pub(super) const fn of(mark: &Mark) -> Self {
        match (mark.medium, mark.place) {
            (Medium::Artifact, Place::Git) => Self::ArtifactBelowGit,
            (Medium::Artifact, Place::Checkout) => Self::ArtifactOverCheckout,
            (Medium::Artifact, Place::Outside) => Self::ArtifactOutsidePaths,
            (Medium::Artifact, Place::Declared | Place::Claimed) => Self::LowerArtifact,
            (Medium::Output, _) => Self::LowerOutput,
            (Medium::Cache, Place::Declared) => Self::LowerCache,
            (Medium::Cache, Place::Claimed) => Self::ClaimedBranch,
            (Medium::Cache, Place::Outside | Place::Git | Place::Checkout) => Self::CacheOutsidePaths,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tried {
    pub(super) attempts: usize,
    /// By the server's response.
    pub(super) refused: usize,
    /// What was accepted and must not be, or has reached a job that must not have it.
    pub(super) got_through: usize,
    /// What was accepted, and has reached only jobs that may have it, or none.
    pub(super) contained: usize,
}

/// How often each attack was tried.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts(BTreeMap<Attack, Tried>);

impl Attempts {
    pub(super) fn count(&mut self, attack: Attack, refused: bool) {
        let tried = self.0.entry(attack).or_default();
        tried.attempts += 1;
        tried.refused += usize::from(refused);
    }

    pub(super) fn count_got_through(&mut self, attack: Attack) {
        self.0.entry(attack).or_default().got_through += 1;
    }

    /// Returns the attacks that were not tried.
    pub(super) fn missing(&self) -> Vec<Attack> {
        Attack::ALL.into_iter().filter(|attack| !self.0.contains_key(attack)).collect()
    }

    pub(super) fn finish(mut self) -> BTreeMap<Attack, Tried> {
        for tried in self.0.values_mut() {
            tried.contained = tried.attempts.saturating_sub(tried.refused + tried.got_through);
        }
        self.0
    }
}
