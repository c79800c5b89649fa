//! The pipeline and its state machine: `active` ⇄ `stopped` → `archived`.

use jiff::Timestamp;

use crate::id::{PipelineId, UserId};
use crate::text_enum::text_enum;

/// What a stop does with deployments that are running. New ones never start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMode {
    /// They continue to their end.
    Drain,
    /// They start no further stage until the pipeline is resumed.
    Pause,
    /// They are canceled.
    Cancel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineStatus {
    Active,
    Stopped,
    Archived,
}

text_enum!(StopMode { Drain = "drain", Pause = "pause", Cancel = "cancel" });
text_enum!(PipelineStatus { Active = "active", Stopped = "stopped", Archived = "archived" });

/// The state of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Active,
    Stopped(StopMode),
    Archived,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineCommand {
    Stop(StopMode),
    Resume,
    Archive,
    Edit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pipeline is archived")]
pub struct Archived;

impl State {
    pub const fn status(self) -> PipelineStatus {
        match self {
            Self::Active => PipelineStatus::Active,
            Self::Stopped(_) => PipelineStatus::Stopped,
            Self::Archived => PipelineStatus::Archived,
        }
    }
}

/// Applies `command`. Commands are idempotent; a second stop with another mode changes the mode.
pub fn apply(state: State, command: PipelineCommand) -> Result<State, Archived> {
    match (state, command) {
        (State::Archived, PipelineCommand::Archive) => Ok(State::Archived),
        (State::Archived, _) => Err(Archived),
        (_, PipelineCommand::Archive) => Ok(State::Archived),
        (_, PipelineCommand::Stop(mode)) => Ok(State::Stopped(mode)),
        (_, PipelineCommand::Resume) => Ok(State::Active),
        (state, PipelineCommand::Edit) => Ok(state),
    }
}

/// The stop of a pipeline, and who made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub mode: StopMode,
    pub reason: Option<String>,
    pub at: Timestamp,
    pub by: UserId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    pub id: PipelineId,
    pub slug: String,
    pub name: String,
    pub repository: Option<String>,
    pub status: PipelineStatus,
    pub stop: Option<Stop>,
    pub definition_version: i32,
    /// Increases with every change of the record; its `ETag`.
    pub revision: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Pipeline {
    pub fn state(&self) -> State {
        match (self.status, &self.stop) {
            (PipelineStatus::Archived, _) => State::Archived,
            (_, Some(stop)) => State::Stopped(stop.mode),
            (_, None) => State::Active,
        }
    }
}

/// One version of a pipeline's definition. Versions are never changed.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineVersion {
    pub version: i32,
    pub source: String,
    pub digest: String,
    pub created_at: Timestamp,
    pub created_by: UserId,
    pub created_by_name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_and_command() {
        use StopMode::{Cancel, Drain};
        let (active, stopped, archived) = (State::Active, State::Stopped(Drain), State::Archived);
        let table = [
            (active, PipelineCommand::Stop(Drain), Ok(stopped)),
            (active, PipelineCommand::Resume, Ok(active)),
            (active, PipelineCommand::Archive, Ok(archived)),
            (active, PipelineCommand::Edit, Ok(active)),
            (stopped, PipelineCommand::Stop(Drain), Ok(stopped)),
            (stopped, PipelineCommand::Stop(Cancel), Ok(State::Stopped(Cancel))),
            (stopped, PipelineCommand::Resume, Ok(active)),
            (stopped, PipelineCommand::Archive, Ok(archived)),
            (stopped, PipelineCommand::Edit, Ok(stopped)),
            (archived, PipelineCommand::Stop(Drain), Err(Archived)),
            (archived, PipelineCommand::Resume, Err(Archived)),
            (archived, PipelineCommand::Archive, Ok(archived)),
            (archived, PipelineCommand::Edit, Err(Archived)),
        ];
        for (state, command, expected) in table {
            assert_eq!(apply(state, command), expected, "{state:?} {command:?}");
        }
    }
}
