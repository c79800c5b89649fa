//! The user who canceled or retried a deployment or a stage, as stored in its row.

use greenroom_domain::id::UserId;
use serde::Serialize;

use crate::transaction::Actor;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PersonRecord {
    pub id: UserId,
    pub name: String,
    pub kind: String,
}

impl PersonRecord {
    pub(super) fn of(id: Option<uuid::Uuid>, name: Option<String>, kind: Option<String>) -> Option<Self> {
        Some(Self { id: id?.into(), name: name.unwrap_or_default(), kind: kind.unwrap_or_default() })
    }

    /// Returns `None` for the system, a runner and an operator.
    pub(super) fn of_actor(actor: &Actor) -> Option<Self> {
        let PersonColumns { id, name, kind } = actor.into();
        Self::of(id, name, kind)
    }
}

/// The three columns of a user. All are null for the system.
pub(crate) struct PersonColumns {
    pub(crate) id: Option<uuid::Uuid>,
    pub(crate) name: Option<String>,
    pub(crate) kind: Option<String>,
}

impl From<&Actor> for PersonColumns {
    fn from(actor: &Actor) -> Self {
        Self {
            id: actor.user(),
            name: actor.name().map(str::to_owned),
            kind: actor.kind().map(str::to_owned),
        }
    }
}
