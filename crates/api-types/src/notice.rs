//! Notices: what ended a person's sessions without them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;
use crate::person::Person;

open_enum!(
    NoticeKind(greenroom_domain::notice::NoticeKind),
    "What has happened: `overridden`, another user took the environment over by force; `place_lost`, the session lost its place in the queue; `turn_missed`, the grant from the queue was not confirmed in time."
);

/// A session of the caller that another user, or the passing of time, has ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    pub kind: NoticeKind,
    pub session_id: String,
    pub env_name: String,
    pub pipeline_id: String,
    /// The pipeline's slug.
    pub pipeline: String,
    /// When the session ended.
    pub at: Timestamp,
    /// The user who ended the session; null if no user did.
    pub by: Option<Person>,
    /// The `context` of the force claim; null for other kinds.
    pub context: Option<String>,
    /// The session's page in the dashboard; null if the server's public URL is not set.
    pub web_url: Option<String>,
}

/// Until when the caller has read their notices.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoticesRead {
    /// The `at` of the newest notice that was shown, so that a later one is not marked.
    pub until: Timestamp,
}
