//! Events in the format of CloudEvents 1.0.

use greenroom_domain::event::Event as DomainEvent;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::repository::masked;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventCategory {
    Audit,
    Deployment,
}

impl From<EventCategory> for greenroom_domain::event::Category {
    fn from(category: EventCategory) -> Self {
        match category {
            EventCategory::Audit => Self::Audit,
            EventCategory::Deployment => Self::Deployment,
        }
    }
}

impl From<greenroom_domain::event::Category> for EventCategory {
    fn from(category: greenroom_domain::event::Category) -> Self {
        match category {
            greenroom_domain::event::Category::Audit => Self::Audit,
            greenroom_domain::event::Category::Deployment => Self::Deployment,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    #[schema(example = "1.0")]
    pub specversion: String,
    #[schema(example = "evt_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    #[schema(example = "/organizations/org_0190a0b0-0000-7000-8000-000000000001")]
    pub source: String,
    #[schema(example = "pipeline.stopped")]
    pub r#type: String,
    #[schema(example = "pipelines/pip_0190a0b0-0000-7000-8000-000000000001")]
    pub subject: String,
    pub time: Timestamp,
    /// The number of the event within its organization: consecutive, starting at 1, in the order of the
    /// changes. Streams and cursors use it.
    #[schema(minimum = 1)]
    pub sequence: i64,
    pub category: EventCategory,
    /// An object with `actor`, `context`, `before`, `after` and `reason`. `after` contains the state after the
    /// change: `lock` of the environment in events of sessions, `deployment` in events of deployments, and
    /// `stageRecord` in events of stages, with the fields of the records that the API returns.
    pub data: serde_json::Value,
}

impl Event {
    pub fn of(organization: OrganizationId, event: DomainEvent) -> Self {
        Self {
            specversion: "1.0".to_owned(),
            id: event.id.to_string(),
            source: format!("/organizations/{organization}"),
            r#type: event.event_type,
            subject: event.subject,
            time: event.time,
            sequence: event.sequence,
            category: event.category.into(),
            data: without_credentials(event.data),
        }
    }
}

/// Old events of pipelines still contain URLs with credentials, which are rejected today.
fn without_credentials(mut data: serde_json::Value) -> serde_json::Value {
    for side in ["before", "after"] {
        if let Some(address) = data.get_mut(side).and_then(|record| record.get_mut("repository"))
            && let Some(text) = address.as_str()
        {
            *address = masked(text).into_owned().into();
        }
    }
    data
}
