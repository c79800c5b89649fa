//! The pipeline and its state machine: `active` ⇄ `stopped` → `archived`.

use jiff::Timestamp;

use crate::id::{PipelineId, UserId};
pub use crate::word::UnknownWord;
use crate::word::words;

/// What a stop does with deployments that run already. New ones are always held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMode {
    /// They run to their end.
    Drain,
    /// They are held before their next stage.
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

words!(StopMode { Drain = "drain", Pause = "pause", Cancel = "cancel" });
words!(PipelineStatus { Active = "active", Stopped = "stopped", Archived = "archived" });

/// Where a pipeline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Active,
    Stopped(StopMode),
    Archived,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
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

/// Where `command` leads. Repeating a command leads nowhere new, so that it may be repeated safely; a second stop with
/// another mode changes the mode.
pub fn apply(state: State, command: Command) -> Result<State, Archived> {
    match (state, command) {
        (State::Archived, Command::Archive) => Ok(State::Archived),
        (State::Archived, _) => Err(Archived),
        (_, Command::Archive) => Ok(State::Archived),
        (_, Command::Stop(mode)) => Ok(State::Stopped(mode)),
        (_, Command::Resume) => Ok(State::Active),
        (state, Command::Edit) => Ok(state),
    }
}

/// The stop that holds a pipeline, and who made it.
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
    /// Counts every change of the record; its `ETag`.
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
            (active, Command::Stop(Drain), Ok(stopped)),
            (active, Command::Resume, Ok(active)),
            (active, Command::Archive, Ok(archived)),
            (active, Command::Edit, Ok(active)),
            (stopped, Command::Stop(Drain), Ok(stopped)),
            (stopped, Command::Stop(Cancel), Ok(State::Stopped(Cancel))),
            (stopped, Command::Resume, Ok(active)),
            (stopped, Command::Archive, Ok(archived)),
            (stopped, Command::Edit, Ok(stopped)),
            (archived, Command::Stop(Drain), Err(Archived)),
            (archived, Command::Resume, Err(Archived)),
            (archived, Command::Archive, Ok(archived)),
            (archived, Command::Edit, Err(Archived)),
        ];
        for (state, command, expected) in table {
            assert_eq!(apply(state, command), expected, "{state:?} {command:?}");
        }
    }
}
