//! Sessions that end as a consequence of another change.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::session::SessionStatus;

/// A session that ends because its user may no longer hold it, or because its pipeline is archived.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndedSession {
    #[schema(example = "ses_0190a0b0-0000-7000-8000-000000000001")]
    pub session_id: String,
    pub pipeline_id: String,
    pub env_name: String,
    /// The session's status before it ended: `active` or `queued`.
    pub status: SessionStatus,
    pub user_id: String,
    pub user_name: String,
}
