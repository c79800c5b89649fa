//! Archiving a pipeline, which ends its sessions.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::pipeline::{Pipeline, PipelineCommand, PipelineStatus};
use greenroom_store::Command;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::session_ending::{LiveSession, SessionsOf};

use crate::failure::Failure;
use crate::pipeline;
use crate::precondition::IfMatch;

pub struct Archived {
    pub pipeline: Pipeline,
    pub ended: Vec<LiveSession>,
}

/// Archives a pipeline permanently. Its sessions end first, as in a release, so that their teardowns remain
/// when everything else of the pipeline is canceled. A dry run returns the sessions that would end.
#[boxed_futures]
pub async fn archive(
    command: &mut Command,
    name: &PipelineName,
    condition: &IfMatch,
    dry_run: bool,
) -> Result<Archived, Failure> {
    let before = pipeline::locked(command, name, condition).await?;
    let of = SessionsOf::Pipeline(before.id);
    if dry_run {
        return Ok(Archived { ended: command.live_sessions(&of).await?, pipeline: before });
    }
    let ended = if before.status == PipelineStatus::Archived {
        Vec::new()
    } else {
        command.end_sessions(&of, "the pipeline was archived").await?
    };
    let pipeline = pipeline::change_status(command, name, condition, PipelineCommand::Archive, None).await?;
    Ok(Archived { pipeline, ended })
}
