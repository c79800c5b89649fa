//! Newer wins: which open approvals an approval makes superfluous.

use jiff::Timestamp;

use crate::id::{DeploymentId, PipelineId};

/// Where an approval belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub pipeline: PipelineId,
    pub stage: &'a str,
    pub environment: Option<&'a str>,
    pub deployment: DeploymentId,
    /// When the deployment was created, or retried as a rollback.
    pub accepted_at: Timestamp,
}

/// Returns whether approving `approved` supersedes the open approval `other`: it belongs to the same stage and environment
/// of an older deployment. Two that were accepted at the same time are ordered by their ids.
pub fn supersedes(approved: Place<'_>, other: Place<'_>) -> bool {
    let is_same = |one: Place<'_>, two: Place<'_>| {
        (one.pipeline, one.stage, one.environment) == (two.pipeline, two.stage, two.environment)
    };
    let order = |place: Place<'_>| (place.accepted_at, place.deployment);
    is_same(approved, other) && order(other) < order(approved)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_older_ones_of_the_same_stage_and_environment_are_superseded() {
        let id = Uuid::from_u128;
        let at = |second| Timestamp::from_second(second).unwrap();
        let approved = Place {
            pipeline: id(1).into(),
            stage: "release",
            environment: Some("production"),
            deployment: id(5).into(),
            accepted_at: at(5),
        };
        let older = Place { deployment: id(4).into(), accepted_at: at(4), ..approved };
        assert!(supersedes(approved, older));
        assert!(supersedes(approved, Place { deployment: id(4).into(), ..approved }));
        for other in [
            approved,
            Place { accepted_at: at(6), ..older },
            Place { deployment: id(6).into(), ..approved },
            Place { pipeline: id(2).into(), ..older },
            Place { stage: "migrate", ..older },
            Place { environment: Some("staging"), ..older },
            Place { environment: None, ..older },
        ] {
            assert!(!supersedes(approved, other), "{other:?}");
        }
    }
}
