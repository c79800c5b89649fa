//! Reasons that are a category by themselves.

use greenroom_domain::deployment::Reason;
use greenroom_domain::failure::Category;

/// Returns the category of a reason; `None` if the log has to decide, or if nothing failed.
pub(super) fn category(reason: Reason) -> Option<Category> {
    match reason {
        Reason::TimedOut => Some(Category::Timeout),
        Reason::RunnerLost | Reason::NoRunner | Reason::RunnerError | Reason::Abandoned | Reason::GivenUp => {
            Some(Category::Platform)
        }
        Reason::ImageNotFound | Reason::StepDigestMismatch => Some(Category::Dependency),
        Reason::CommitNotFound
        | Reason::CommitNotOnBranch
        | Reason::RepositoryUnavailable
        | Reason::CheckoutHostNotAllowed
        | Reason::PoolRestricted
        | Reason::InputRefused
        | Reason::SecretMissing
        | Reason::SecretDenied
        | Reason::DeployDenied
        | Reason::Unsupported
        | Reason::InvalidDefinition
        | Reason::ConditionLimit => Some(Category::Configuration),
        Reason::StepRefused
        | Reason::GateClosed
        | Reason::ApprovalRejected
        | Reason::ApprovalExpired
        | Reason::ApprovalLapsed => Some(Category::Gate),
        Reason::StepFailed
        | Reason::CanceledByUser
        | Reason::SessionEnded
        | Reason::PipelineStopped
        | Reason::ConditionFalse
        | Reason::BranchUnknown
        | Reason::OnlyEphemeral
        | Reason::UpstreamFailed
        | Reason::UpstreamSkipped
        | Reason::DeploymentCanceled
        | Reason::Outdated
        | Reason::NewerDeployment => None,
    }
}
