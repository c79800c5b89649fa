//! Browser sessions: the browsers in which a person is signed in.

use greenroom_domain::browser_session::{BrowserSession as Record, SignInMethod as Method};
use greenroom_domain::id::BrowserSessionId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;

open_enum!(SignInMethod(Method), "How a person has signed in.");

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserSession {
    #[schema(example = "brs_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    /// Whether this is the session that sent the request.
    pub current: bool,
    pub method: SignInMethod,
    /// How the browser described itself when the person signed in.
    #[schema(example = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")]
    pub user_agent: String,
    pub created_at: Timestamp,
    /// Accurate to one minute. A session that is not used for 12 hours ends.
    pub last_used_at: Timestamp,
    /// When the session ends at the latest: 14 days after the sign-in.
    pub expires_at: Timestamp,
}

impl BrowserSession {
    /// `current` is the session that sent the request.
    pub fn new(session: Record, current: BrowserSessionId) -> Self {
        Self {
            id: session.id.to_string(),
            current: session.id == current,
            method: session.method.into(),
            user_agent: session.user_agent,
            created_at: session.created_at,
            last_used_at: session.last_used_at,
            expires_at: session.expires_at,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndedBrowserSessions {
    /// The ids of the sessions that have ended with this request.
    pub ended: Vec<String>,
}

impl FromIterator<BrowserSessionId> for EndedBrowserSessions {
    fn from_iter<I: IntoIterator<Item = BrowserSessionId>>(ids: I) -> Self {
        Self { ended: ids.into_iter().map(|id| id.to_string()).collect() }
    }
}
