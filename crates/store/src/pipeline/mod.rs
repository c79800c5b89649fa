//! Pipelines and the versions of their definitions.

mod activity;
mod limited;
mod read;
mod version;
mod write;

use std::fmt;

use greenroom_domain::id::PipelineId;
use greenroom_domain::pipeline::{Pipeline, Stop};
use greenroom_domain::slug::Slug;
use greenroom_domain::step::StepLock;

pub use self::activity::{PipelineActivity, RecentDeployment};
pub use self::limited::PipelineFilter;
use crate::StoreError;
use crate::error::parse_column;

/// The id or slug by which a client refers to a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineName {
    Id(PipelineId),
    Slug(Slug),
}

impl PipelineName {
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.parse().map(Self::Id).ok();
        id.or_else(|| text.parse().map(Self::Slug).ok())
    }

    pub(crate) fn id(&self) -> Option<uuid::Uuid> {
        match self {
            Self::Id(id) => Some(id.uuid()),
            Self::Slug(_) => None,
        }
    }

    pub(crate) fn slug(&self) -> Option<&str> {
        match self {
            Self::Id(_) => None,
            Self::Slug(slug) => Some(slug.as_str()),
        }
    }
}

impl fmt::Display for PipelineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Slug(slug) => slug.fmt(f),
        }
    }
}

/// A definition that was checked: its source, its parsed form, what its references to steps of registries mean, and the digest of
/// the source and these meanings.
#[derive(Clone, Debug)]
pub struct CheckedDefinition {
    pub source: String,
    pub definition: serde_json::Value,
    pub lock: StepLock,
    pub digest: String,
}

/// The fields that an edit may change.
#[derive(Clone, Debug)]
pub struct PipelineEdit<'a> {
    pub slug: &'a str,
    pub name: &'a str,
    pub repository: Option<&'a str>,
}

struct Row {
    id: uuid::Uuid,
    slug: String,
    name: String,
    repository: Option<String>,
    status: String,
    stop_mode: Option<String>,
    stop_reason: Option<String>,
    stopped_at: Option<jiff_sqlx::Timestamp>,
    stopped_by: Option<uuid::Uuid>,
    definition_version: i32,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl TryFrom<Row> for Pipeline {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let stop = match (row.stop_mode, row.stopped_at, row.stopped_by) {
            (Some(mode), Some(at), Some(by)) => Some(Stop {
                mode: parse_column("pipelines.stop_mode", &mode)?,
                reason: row.stop_reason,
                at: at.to_jiff(),
                by: by.into(),
            }),
            _ => None,
        };
        Ok(Self {
            id: row.id.into(),
            slug: row.slug,
            name: row.name,
            repository: row.repository,
            status: parse_column("pipelines.status", &row.status)?,
            stop,
            definition_version: row.definition_version,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        })
    }
}
