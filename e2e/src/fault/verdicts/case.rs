//! The kinds of planted failures, and what is known of each failure.

use greenroom_domain::failure::VerdictKind;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum CaseKind {
    /// A commit fails.
    OwnCommit,
    /// A commit fails, and is deployed again without a change.
    OwnCommitAgain,
    /// A commit that was good fails with a changed definition.
    Definition,
    /// A commit that was good fails with a changed image.
    Image,
    /// A commit fails, and passes when its stage is retried.
    FlakeRetried,
    /// A commit fails, and passes when it is deployed again.
    FlakeDeployedAgain,
    /// A commit breaks a branch that two other people continue.
    BrokenBranch,
    /// A service that several pipelines need is down.
    Outage,
    /// The same for several people of one pipeline, on different branches.
    OutageInOnePipeline,
    /// A commit fails in a broken environment after it has passed in another one.
    PassedElsewhere,
    /// A commit fails in a broken environment, and passes in another one afterwards.
    PassesElsewhere,
    /// Four people fail in a broken environment, each with another error. Three of them continue elsewhere.
    BrokenEnvironment,
    /// Runners are killed.
    LostRunner,
    /// The first deployment of a pipeline fails.
    FirstRun,
}

impl CaseKind {
    pub(super) const ALL: [Self; 14] = [
        Self::OwnCommit,
        Self::OwnCommitAgain,
        Self::Definition,
        Self::Image,
        Self::FlakeRetried,
        Self::FlakeDeployedAgain,
        Self::BrokenBranch,
        Self::Outage,
        Self::OutageInOnePipeline,
        Self::PassedElsewhere,
        Self::PassesElsewhere,
        Self::BrokenEnvironment,
        Self::LostRunner,
        Self::FirstRun,
    ];

    /// Returns how many deployments fail in one case.
    pub(super) const fn failures(self) -> usize {
        match self {
            Self::OwnCommit
            | Self::Definition
            | Self::Image
            | Self::FlakeRetried
            | Self::FlakeDeployedAgain
            | Self::PassedElsewhere
            | Self::PassesElsewhere
            | Self::LostRunner
            | Self::FirstRun => 1,
            Self::OwnCommitAgain => 2,
            Self::BrokenBranch | Self::Outage | Self::OutageInOnePipeline => 3,
            Self::BrokenEnvironment => 4,
        }
    }

    /// Returns how often the case is chosen, compared with others.
    pub(super) const fn weight(self) -> usize {
        match self {
            Self::OwnCommit => 8,
            Self::Definition | Self::FlakeRetried | Self::Outage | Self::PassesElsewhere | Self::FirstRun => {
                2
            }
            _ => 1,
        }
    }

    /// Returns whether a team can play the case alone, concurrently with other teams.
    pub(super) const fn is_of_one_team(self) -> bool {
        !self.is_outage() && !matches!(self, Self::Image | Self::LostRunner)
    }

    pub(super) const fn is_outage(self) -> bool {
        matches!(self, Self::Outage | Self::OutageInOnePipeline)
    }
}

/// A failure that was planted.
#[derive(Clone, Debug)]
pub(super) struct Planted {
    pub(super) kind: CaseKind,
    pub(super) expected: VerdictKind,
    /// The failures with the same cause are equal.
    pub(super) cause: usize,
    pub(super) deployment: String,
    /// The step that failed, if the stage was attempted again.
    pub(super) step: Option<String>,
}

/// A failure, and what Greenroom has found out about it.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub(super) planted: Planted,
    /// `None` if there was no evidence.
    pub(super) found: Option<Found>,
}

#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) verdict: VerdictKind,
    pub(super) because: String,
    pub(super) fingerprint: String,
    pub(super) decisive: String,
}
