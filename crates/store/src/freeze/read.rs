//! Reads freezes for the API.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{FreezeId, OrganizationId};
use jiff::Timestamp;

use super::{FreezeRecord, Row};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

/// Selects the freeze `$2` of organization `$1`.
macro_rules! freeze_query {
    ($end:literal, $organization:expr, $id:expr) => {
        sqlx::query_as!(
            Row,
            "select f.id, f.name, f.reason, f.pipelines, f.environments, f.from_at, f.to_at, f.weekly, f.zone,
                    f.revision, f.created_at, f.created_by, f.updated_at, f.ended_at
             from freezes f where f.organization_id = $1 and f.id = $2" + $end,
            $organization,
            $id,
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns the freezes that are not ended, ordered by name, and the time of the database.
    pub async fn freezes(
        &self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<(PageResult<FreezeRecord>, Timestamp), StoreError> {
        let counted = sqlx::query!(
            r#"select count(*) as "count!", clock_timestamp() as "now!" from (
                   select 1 from freezes where organization_id = $1 and ended_at is null limit $2
               ) counted"#,
            organization.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            "select id, name, reason, pipelines, environments, from_at, to_at, weekly, zone, revision, created_at,
                    created_by, updated_at, ended_at
             from freezes where organization_id = $1 and ended_at is null
             order by name, id limit $2 offset $3",
            organization.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(FreezeRecord::try_from).collect::<Result<_, _>>()?;
        Ok((PageResult { rows, total: Total::counted(counted.count) }, counted.now.to_jiff()))
    }

    /// Returns a freeze, also if it was ended, and the time of the database.
    pub async fn freeze(
        &self,
        organization: OrganizationId,
        id: FreezeId,
    ) -> Result<Option<(FreezeRecord, Timestamp)>, StoreError> {
        let row = freeze_query!("", organization.uuid(), id.uuid()).fetch_optional(&self.pool()).await?;
        let Some(row) = row else { return Ok(None) };
        let now =
            sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(&self.pool()).await?;
        Ok(Some((row.try_into()?, now.to_jiff())))
    }
}

#[boxed_futures]
impl Command {
    pub async fn freeze_for_update(&mut self, id: FreezeId) -> Result<Option<FreezeRecord>, StoreError> {
        let organization = self.organization();
        let row = freeze_query!(" for update of f", organization, id.uuid())
            .fetch_optional(self.connection())
            .await?;
        row.map(FreezeRecord::try_from).transpose()
    }
}
