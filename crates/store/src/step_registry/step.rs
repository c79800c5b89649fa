//! Reads the steps of registries.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, RegistryId};

use super::version::{StepVersionRecord, VersionRow};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Store, StoreError};

/// A step, with its newest version: a release that is not yanked, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    pub name: String,
    pub newest: StepVersionRecord,
    /// How many versions it has.
    pub versions: i64,
}

#[boxed_futures]
impl Store {
    /// Returns the steps of a registry, ordered by name.
    pub async fn registry_steps(
        &self,
        organization: OrganizationId,
        registry: RegistryId,
        page: Page,
    ) -> Result<PageResult<StepRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select distinct name from step_versions where organization_id = $1 and registry_id = $2 limit $3
               ) counted"#,
            organization.uuid(),
            registry.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let names = sqlx::query_scalar!(
            "select distinct name from step_versions where organization_id = $1 and registry_id = $2
             order by name limit $3 offset $4",
            organization.uuid(),
            registry.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = self.steps_named(organization, registry, &names).await?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns a step of a registry.
    pub async fn registry_step(
        &self,
        organization: OrganizationId,
        registry: RegistryId,
        name: &str,
    ) -> Result<Option<StepRecord>, StoreError> {
        Ok(self.steps_named(organization, registry, &[name.to_owned()]).await?.pop())
    }

    /// Returns those of the named steps that exist, ordered by name.
    async fn steps_named(
        &self,
        organization: OrganizationId,
        registry: RegistryId,
        names: &[String],
    ) -> Result<Vec<StepRecord>, StoreError> {
        let counts = sqlx::query!(
            r#"select name, count(*) as "versions!" from step_versions
               where organization_id = $1 and registry_id = $2 and name = any($3) group by name order by name"#,
            organization.uuid(),
            registry.uuid(),
            names,
        )
        .fetch_all(&self.pool())
        .await?;
        let newest = sqlx::query_as!(
            VersionRow,
            "select distinct on (v.name) v.name, v.version, v.digest, v.tag_object, v.description, v.bytes, v.signer,
                    v.seen_at, v.yanked_at, v.yanked_by, v.yank_reason, v.refused
             from step_versions v
             where v.organization_id = $1 and v.registry_id = $2 and v.name = any($3)
             order by v.name, v.yanked_at is null desc, position('-' in v.version) = 0 desc, v.version_key desc",
            organization.uuid(),
            registry.uuid(),
            names,
        )
        .fetch_all(&self.pool())
        .await?;
        let mut counts: HashMap<String, i64> =
            counts.into_iter().map(|row| (row.name, row.versions)).collect();
        let records = newest.into_iter().map(|row| {
            let versions = counts.remove(&row.name).unwrap_or(1);
            Ok(StepRecord { name: row.name.clone(), newest: row.try_into()?, versions })
        });
        records.collect()
    }
}
