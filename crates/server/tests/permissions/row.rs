//! A row of the table of operations.

use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Viewer,
    Developer,
    Maintainer,
    Admin,
    Owner,
}

impl Role {
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Viewer, "viewer"),
        (Self::Developer, "developer"),
        (Self::Maintainer, "maintainer"),
        (Self::Admin, "admin"),
        (Self::Owner, "owner"),
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Contains no data of tenants: needs no token, and ignores one.
    Public,
    /// About the caller: any valid token of any organization.
    AnyToken,
    /// About how the caller signs in: any person in a browser, and no token.
    Browser,
    Least(Role),
}

/// What the last variable of the path names. Each call that may change it gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Nothing,
    /// A member with the role viewer.
    Member,
    /// A service account with the role viewer.
    ServiceAccount,
    /// A trust policy of such an account, after the account's id.
    TrustPolicy,
    /// A token of the caller.
    OwnToken,
    Pipeline,
    StoppedPipeline,
    /// An event of the category deployment.
    Event,
    /// A free environment of a pipeline.
    Environment,
    /// A free environment whose teardown was canceled.
    FailedCleanup,
    /// A session of the caller, or of another user if the caller cannot hold one.
    Session,
    /// A session of another user.
    OthersSession,
    /// Like `Session`, with a pending request for hand-over.
    HandoverSession,
    /// A deployment that has begun, in which nothing runs.
    Deployment,
    /// Its only stage.
    Stage,
    /// The same stage, canceled.
    EndedStage,
    /// The only step of that stage.
    Step,
    /// The same step, which has failed.
    FailedStep,
    /// The deployment of that step.
    FailedDeployment,
    /// An analysis of that failure, which has succeeded.
    Analysis,
    /// The same, of a pipeline whose fixes can be verified.
    /// A model was called for it.
    ExplainedAnalysis,
    FixableAnalysis,
    /// A fix that has not begun, requested by the owner.
    Fix,
    /// The fingerprint of a failure.
    Failure,
    Runner,
    RunnerPool,
    /// A secret of a pipeline, with two versions.
    Secret,
    Freeze,
    Registry,
    /// A step of a registry with one version, after the registry's id: its name and the version.
    RegistryStep,
    Forge,
    /// A group with a member.
    Group,
    GroupMember,
    /// A group that has a grant on a pipeline.
    GroupGrant,
    /// A user who has a grant on a pipeline.
    UserGrant,
    LastingEnvironment,
    /// An approval on which the caller may vote.
    Approval,
    /// A stage that waits for an approval.
    WaitingStage,
}

pub struct Row {
    pub operation: &'static str,
    pub method: &'static str,
    pub path: &'static str,
    pub right: Right,
    /// The scope that a token needs for it; empty if it needs none.
    pub scope: &'static str,
    pub success: u16,
    pub target: Target,
    /// Builds the body, from a name that is unique to the call.
    pub body: fn(&str) -> Value,
}

pub const fn row(
    operation: &'static str,
    (method, path): (&'static str, &'static str),
    right: Right,
    scope: &'static str,
    success: u16,
    target: Target,
    body: fn(&str) -> Value,
) -> Row {
    Row { operation, method, path, right, scope, success, target, body }
}
