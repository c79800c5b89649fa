//! The parts of the API's responses that the harness reads.

use jiff::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use crate::fault::clock::Micros;
use crate::fault::fixture::parse_id;
use crate::fault::history::{HeldView, LockView, SessionView, Status};

#[derive(Deserialize)]
pub(super) struct Data<T> {
    pub(super) data: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    session_id: String,
    status: String,
    pub(super) lock: Lock,
    expires_at: Option<Timestamp>,
    fence: Option<i64>,
    pub(super) displaced: Option<Displaced>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Displaced {
    pub(super) session_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lock {
    session_id: Option<String>,
    expires_at: Option<Timestamp>,
    fence: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Environment {
    pub(super) env_name: String,
    pub(super) lock: Lock,
}

#[derive(Deserialize)]
pub(super) struct Deployment {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct Problem {
    pub(super) code: String,
    pub(super) lock: Option<Lock>,
}

impl Session {
    pub(super) fn view(&self) -> Option<SessionView> {
        Some(SessionView {
            id: parse_id(&self.session_id)?,
            status: Status::parse(&self.status)?,
            fence: self.fence,
            expires_at: self.expires_at.map(micros),
        })
    }

    pub(super) fn displaced(&self) -> Option<Uuid> {
        self.displaced.as_ref().and_then(|displaced| parse_id(&displaced.session_id))
    }
}

impl Lock {
    pub(super) fn view(&self) -> LockView {
        let session = self.session_id.as_deref().and_then(parse_id);
        let held = session.zip(self.fence).zip(self.expires_at).map(|((session, fence), expires_at)| {
            HeldView { session, fence, expires_at: micros(expires_at) }
        });
        LockView { held }
    }
}

fn micros(at: Timestamp) -> Micros {
    at.as_microsecond()
}
