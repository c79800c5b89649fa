//! Freezes: their records, and which of them hold in an environment now.

mod active;
mod read;
mod write;

use greenroom_domain::freeze::{Reach, Schedule, ScheduleInput};
use greenroom_domain::id::{FreezeId, PipelineId, UserId};
use jiff::Timestamp;

pub use self::active::ActiveFreeze;
pub(crate) use self::active::active_freezes;
pub use self::write::FreezeContent;
use crate::StoreError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezeRecord {
    pub id: FreezeId,
    pub name: String,
    pub reason: String,
    pub reach: Reach,
    pub schedule: Schedule,
    pub revision: i64,
    pub created_at: Timestamp,
    pub created_by: UserId,
    pub updated_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

struct Row {
    id: uuid::Uuid,
    name: String,
    reason: String,
    pipelines: Vec<uuid::Uuid>,
    environments: Vec<String>,
    from_at: Option<jiff_sqlx::Timestamp>,
    to_at: Option<jiff_sqlx::Timestamp>,
    weekly: serde_json::Value,
    zone: Option<String>,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    created_by: uuid::Uuid,
    updated_at: jiff_sqlx::Timestamp,
    ended_at: Option<jiff_sqlx::Timestamp>,
}

impl TryFrom<Row> for FreezeRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let pipelines = row.pipelines.into_iter().map(PipelineId::from).collect();
        let reach = Reach::new(pipelines, row.environments)
            .map_err(|error| unreadable("freezes.environments", &error))?;
        let weekly =
            serde_json::from_value(row.weekly).map_err(|error| unreadable("freezes.weekly", &error))?;
        let input = ScheduleInput {
            from: row.from_at.map(jiff_sqlx::Timestamp::to_jiff),
            to: row.to_at.map(jiff_sqlx::Timestamp::to_jiff),
            weekly,
            zone: row.zone,
        };
        let schedule = Schedule::new(&input).map_err(|error| unreadable("freezes.weekly", &error))?;
        Ok(Self {
            id: row.id.into(),
            name: row.name,
            reason: row.reason,
            reach,
            schedule,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
            updated_at: row.updated_at.to_jiff(),
            ended_at: row.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
        })
    }
}

fn unreadable(column: &'static str, error: &impl std::fmt::Display) -> StoreError {
    StoreError::Unreadable { column, value: error.to_string() }
}
