//! What a new deployment needs besides its id.

use greenroom_domain::deployment::Trigger;
use greenroom_domain::id::{PipelineId, SessionId, UserId};

/// A deployment of all stages of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct NewPipelineDeployment<'a> {
    pub pipeline: PipelineId,
    pub commit_id: &'a str,
    pub branch: Option<&'a str>,
    pub trigger: Trigger,
    /// It may replace what a newer deployment has deployed to a lasting environment.
    pub allows_older: bool,
    /// The person for whom a service account has started it, and the person's name.
    pub on_behalf_of: Option<(UserId, &'a str)>,
}

/// A deployment of a session.
#[derive(Clone, Copy, Debug)]
pub struct NewSessionDeployment<'a> {
    pub session: SessionId,
    pub created_by: UserId,
    pub commit_id: &'a str,
}
