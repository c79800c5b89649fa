//! Reads what a reference is resolved from.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, RegistryId};
use greenroom_domain::step::Candidate;

use crate::error::parse_column;
use crate::{OrgTransaction, Store, StoreError};

/// Versions beyond this number, the lowest ones, are not considered.
const MAX_CANDIDATES: i64 = 10_000;

struct Row {
    version: String,
    digest: String,
    is_signed: bool,
    seen_at: jiff_sqlx::Timestamp,
    is_yanked: bool,
    is_refused: bool,
}

impl TryFrom<Row> for Candidate {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            version: parse_column("step_versions.version", &row.version)?,
            digest: parse_column("step_versions.digest", &row.digest)?,
            is_signed: row.is_signed,
            seen_at: row.seen_at.to_jiff(),
            is_yanked: row.is_yanked,
            is_refused: row.is_refused,
        })
    }
}

/// Selects all versions of the step `$3` of the registry `$2` in organization `$1`. A signature counts as long as the name
/// of who has signed is among the signers.
macro_rules! candidates_query {
    ($organization:expr, $registry:expr, $name:expr) => {
        sqlx::query_as!(
            Row,
            r#"select v.version, v.digest, v.seen_at, v.yanked_at is not null as "is_yanked!", v.refused as is_refused,
                      exists (select 1 from unnest(r.signers) as s (line)
                              where starts_with(s.line, v.signer || ' ')) as "is_signed!"
               from step_versions v
               join step_registries r on r.organization_id = v.organization_id and r.id = v.registry_id
               where v.organization_id = $1 and v.registry_id = $2 and v.name = $3
               order by v.version_key desc limit $4"#,
            $organization,
            $registry.uuid(),
            $name,
            MAX_CANDIDATES,
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns all versions of a step, the highest first.
    pub async fn step_candidates(
        &self,
        organization: OrganizationId,
        registry: RegistryId,
        name: &str,
    ) -> Result<Vec<Candidate>, StoreError> {
        let rows = candidates_query!(organization.uuid(), registry, name).fetch_all(&self.pool()).await?;
        rows.into_iter().map(Candidate::try_from).collect()
    }

    /// Returns the names of a registry's steps, for suggestions.
    pub async fn step_names(
        &self,
        organization: OrganizationId,
        registry: RegistryId,
    ) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar!(
            "select distinct name from step_versions where organization_id = $1 and registry_id = $2 order by name limit $3",
            organization.uuid(),
            registry.uuid(),
            MAX_CANDIDATES,
        )
        .fetch_all(&self.pool())
        .await?)
    }

    /// Returns the time of the database, by which the age of versions is decided.
    pub async fn resolution_time(&self) -> Result<jiff::Timestamp, StoreError> {
        let now =
            sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(&self.pool()).await?;
        Ok(now.to_jiff())
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Returns all versions of a step, the highest first.
    pub async fn step_candidates(
        &mut self,
        registry: RegistryId,
        name: &str,
    ) -> Result<Vec<Candidate>, StoreError> {
        let organization = self.organization();
        let rows = candidates_query!(organization, registry, name).fetch_all(self.connection()).await?;
        rows.into_iter().map(Candidate::try_from).collect()
    }
}
