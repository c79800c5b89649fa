//! The lock in the payload of a session's event. It has the fields that a read of the environment returns
//! after the command (`api-types/environment.rs`), so that a client needs no request to learn the new state.

use greenroom_domain::id::{SessionId, UserId};
use serde_json::{Value, json};

/// The columns of an environment's row that describe its lock, after a command.
pub(super) struct LockRow {
    pub(super) session_id: Option<uuid::Uuid>,
    pub(super) holder_id: Option<uuid::Uuid>,
    pub(super) holder_name: Option<String>,
    pub(super) holder_kind: Option<String>,
    pub(super) holder_token_name: Option<String>,
    pub(super) context: Option<String>,
    pub(super) commit_id: Option<String>,
    pub(super) claimed_at: Option<jiff_sqlx::Timestamp>,
    pub(super) expires_at: Option<jiff_sqlx::Timestamp>,
    pub(super) max_expires_at: Option<jiff_sqlx::Timestamp>,
    pub(super) confirmed: bool,
    pub(super) fence: i64,
    pub(super) waiters: i32,
    pub(super) handover_session_id: Option<uuid::Uuid>,
    pub(super) handover_user_id: Option<uuid::Uuid>,
    pub(super) handover_user_name: Option<String>,
    pub(super) handover_user_kind: Option<String>,
    pub(super) handover_token_name: Option<String>,
    pub(super) handover_context: Option<String>,
    pub(super) handover_requested_at: Option<jiff_sqlx::Timestamp>,
    pub(super) handover_due_at: Option<jiff_sqlx::Timestamp>,
    pub(super) handover_accepts: Option<bool>,
}

impl LockRow {
    /// Returns the lock. Fields without a value are left out, as in a response; `grant.rs` has the same
    /// fields in SQL.
    pub(super) fn event_payload(&self) -> Value {
        let times = (time(self.claimed_at), time(self.expires_at), time(self.max_expires_at));
        let (Some(session), Some(holder), (Some(claimed_at), Some(expires_at), Some(max_expires_at))) =
            (self.session_id, self.holder_id, times)
        else {
            return json!({ "status": "free", "queueLength": self.waiters });
        };
        let mut lock = json!({
            "status": "locked",
            "sessionId": SessionId::from(session),
            "holder": person(
                holder,
                self.holder_name.as_deref(),
                self.holder_kind.as_deref(),
                self.holder_token_name.as_deref(),
            ),
            "claimedAt": claimed_at,
            "expiresAt": expires_at,
            "maxExpiresAt": max_expires_at,
            "fence": self.fence,
            "queueLength": self.waiters,
        });
        if let Some(context) = &self.context {
            lock["context"] = json!(context);
        }
        if let Some(commit_id) = &self.commit_id {
            lock["commitId"] = json!(commit_id);
        }
        if !self.confirmed {
            lock["confirmBy"] = json!(expires_at);
        }
        if let Some(handover) = self.handover_payload() {
            lock["handover"] = handover;
        }
        lock
    }

    fn handover_payload(&self) -> Option<Value> {
        let requester = person(
            self.handover_user_id?,
            self.handover_user_name.as_deref(),
            self.handover_user_kind.as_deref(),
            self.handover_token_name.as_deref(),
        );
        Some(json!({
            "requestedBy": requester,
            "context": self.handover_context,
            "requestedAt": time(self.handover_requested_at)?,
            "dueAt": time(self.handover_due_at)?,
            "onSilence": if self.handover_accepts == Some(true) { "accept" } else { "lapse" },
            "sessionId": SessionId::from(self.handover_session_id?),
        }))
    }
}

fn person(id: uuid::Uuid, name: Option<&str>, kind: Option<&str>, token: Option<&str>) -> Value {
    let (name, kind) = (name.unwrap_or_default(), kind.unwrap_or_default());
    let mut person = json!({ "id": UserId::from(id), "name": name, "kind": kind });
    if let Some(token) = token {
        person["token"] = json!(token);
    }
    person
}

fn time(at: Option<jiff_sqlx::Timestamp>) -> Option<jiff::Timestamp> {
    at.map(jiff_sqlx::Timestamp::to_jiff)
}
