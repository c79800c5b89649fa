//! Groups of members. The row of a group is locked by every change of the group, of its members and of its grants.

mod member;
mod read;
mod write;

use greenroom_domain::id::{GroupId, UserId};
use jiff::Timestamp;

pub use self::member::GroupMemberRecord;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    pub id: GroupId,
    pub name: String,
    pub description: Option<String>,
    pub revision: i64,
    pub created_at: Timestamp,
    pub created_by: UserId,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

struct Row {
    id: uuid::Uuid,
    name: String,
    description: Option<String>,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    created_by: uuid::Uuid,
    updated_at: jiff_sqlx::Timestamp,
    deleted_at: Option<jiff_sqlx::Timestamp>,
}

impl From<Row> for GroupRecord {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            name: row.name,
            description: row.description,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
            updated_at: row.updated_at.to_jiff(),
            deleted_at: row.deleted_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}
