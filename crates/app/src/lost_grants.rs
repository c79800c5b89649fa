//! What ends when users lose grants: sessions and holds of lasting environments that nothing permits any more.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::PipelineId;
use greenroom_store::Command;
use greenroom_store::session_ending::{LiveSession, SessionsOf};

use crate::failure::Failure;

/// Ends the sessions and holds on these pipelines whose users may not have them any more. The grants must be deleted
/// already. Returns the sessions; a dry run, which its caller rolls back, ends none.
#[boxed_futures]
pub async fn end_sessions(
    command: &mut Command,
    pipelines: Vec<PipelineId>,
    reason: &str,
    dry_run: bool,
) -> Result<Vec<LiveSession>, Failure> {
    if pipelines.is_empty() {
        return Ok(Vec::new());
    }
    if !dry_run {
        command.end_holds_without_right(&pipelines).await?;
    }
    let without_right = SessionsOf::WithoutRight(pipelines);
    if dry_run {
        return Ok(command.live_sessions(&without_right).await?);
    }
    Ok(command.end_sessions(&without_right, reason).await?)
}
