//! The input of a command on a lock.

use greenroom_domain::environment::{EnvironmentState, LockCommand};
use greenroom_domain::principal::Credential;

/// Data of a new session.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    pub user_name: String,
    pub user_kind: String,
    pub context: Option<String>,
    pub commit_id: Option<String>,
    /// The token or browser session of the claim, queue or hand-over request.
    pub credential: Option<Credential>,
    /// The name of the token, if the user is a service account.
    pub token_name: Option<String>,
}

/// What a user has sent with a claim, for its event.
#[derive(Clone, Debug, Default)]
pub(super) struct ClaimDetails {
    pub(super) context: Option<String>,
    pub(super) commit_id: Option<String>,
}

impl NewSession {
    pub(super) fn details(&self) -> ClaimDetails {
        ClaimDetails { context: self.context.clone(), commit_id: self.commit_id.clone() }
    }
}

/// The command that is applied to an environment, and the environment's state before it.
#[derive(Clone, Copy)]
pub(super) struct LockCommandContext<'a> {
    pub(super) before: &'a EnvironmentState,
    pub(super) command: LockCommand<'a>,
    pub(super) new: &'a NewSession,
}
