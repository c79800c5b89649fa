//! Organizations, as seen by their members.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::text::Name;
use jiff::Timestamp;

use crate::{Command, Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    pub id: OrganizationId,
    pub slug: String,
    pub name: String,
    pub revision: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

struct Row {
    id: uuid::Uuid,
    slug: String,
    name: String,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl From<Row> for Organization {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            slug: row.slug,
            name: row.name,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        }
    }
}

#[boxed_futures]
impl Store {
    pub async fn organization(&self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "select id, slug, name, revision, created_at, updated_at from organizations where id = $1",
            id.uuid()
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(Organization::from))
    }
}

#[boxed_futures]
impl Command {
    pub async fn organization_for_update(&mut self) -> Result<Organization, StoreError> {
        let id = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, slug, name, revision, created_at, updated_at from organizations where id = $1 for update",
            id
        )
        .fetch_one(self.connection())
        .await?;
        Ok(row.into())
    }

    pub async fn rename_organization(&mut self, name: &Name) -> Result<Organization, StoreError> {
        let id = self.organization();
        let row = sqlx::query_as!(
            Row,
            "update organizations set name = $2, revision = revision + 1, updated_at = clock_timestamp()
             where id = $1 returning id, slug, name, revision, created_at, updated_at",
            id,
            name.as_str()
        )
        .fetch_one(self.connection())
        .await?;
        Ok(row.into())
    }
}
