//! The right that is required to cancel a deployment, or to cancel or retry one of its stages.

use super::plan::Purpose;
use crate::policy::Action;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequiredRight {
    pub action: Action,
    /// The token has to allow force as well.
    pub force: bool,
}

/// Returns the right that is required to cancel or retry a deployment. In a session the holder needs only the
/// right to run their own deployments; other users have to be maintainers, with a token that may force. A
/// teardown has no holder, because its session has ended: only maintainers may cancel it.
pub const fn required_right(purpose: Purpose, is_holder: bool) -> RequiredRight {
    match (purpose, is_holder) {
        (Purpose::Pipeline, _) => RequiredRight { action: Action::DeploymentRun, force: false },
        (Purpose::Session, true) => RequiredRight { action: Action::DeploymentRunOwn, force: false },
        (Purpose::Session, false) => RequiredRight { action: Action::DeploymentRunAny, force: true },
        (Purpose::Teardown, _) => RequiredRight { action: Action::DeploymentRunAny, force: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_holder_and_maintainers_act_in_a_session() {
        for (purpose, is_holder, action, force) in [
            (Purpose::Pipeline, false, Action::DeploymentRun, false),
            (Purpose::Pipeline, true, Action::DeploymentRun, false),
            (Purpose::Session, true, Action::DeploymentRunOwn, false),
            (Purpose::Session, false, Action::DeploymentRunAny, true),
            (Purpose::Teardown, true, Action::DeploymentRunAny, false),
            (Purpose::Teardown, false, Action::DeploymentRunAny, false),
        ] {
            assert_eq!(
                required_right(purpose, is_holder),
                RequiredRight { action, force },
                "{purpose:?} {is_holder}"
            );
        }
    }
}
