//! Who did something to a deployment or a stage, as its row has it.

use greenroom_domain::id::UserId;

use crate::change::Actor;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonRecord {
    pub id: UserId,
    pub name: String,
    pub kind: String,
}

impl PersonRecord {
    pub(super) fn of(id: Option<uuid::Uuid>, name: Option<String>, kind: Option<String>) -> Option<Self> {
        Some(Self { id: id?.into(), name: name.unwrap_or_default(), kind: kind.unwrap_or_default() })
    }
}

/// The three columns that a person is written into; all null for the system.
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
