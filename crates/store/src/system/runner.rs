//! Authentication of runners: from a token's hash to its principal.

use std::collections::HashSet;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, RunnerId};
use greenroom_domain::token::TokenHash;

use crate::job::RunnerPrincipal;
use crate::{Store, StoreError};

/// The runner of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedRunner {
    pub principal: RunnerPrincipal,
    pub is_revoked: bool,
}

#[boxed_futures]
impl Store {
    /// Returns those of these runners that are not revoked.
    pub async fn active_runners(
        &self,
        runners: &[(OrganizationId, RunnerId)],
    ) -> Result<HashSet<RunnerId>, StoreError> {
        let (organizations, ids): (Vec<uuid::Uuid>, Vec<uuid::Uuid>) =
            runners.iter().map(|(organization, runner)| (organization.uuid(), runner.uuid())).unzip();
        let rows = sqlx::query_scalar!(
            "select r.id from unnest($1::uuid[], $2::uuid[]) as watched (organization_id, id)
             join runners r on r.organization_id = watched.organization_id and r.id = watched.id
             where r.revoked_at is null",
            &organizations,
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows.into_iter().map(RunnerId::from).collect())
    }

    /// Returns the runner of a token.
    pub async fn authenticate_runner(
        &self,
        hash: &TokenHash,
    ) -> Result<Option<AuthenticatedRunner>, StoreError> {
        let row = sqlx::query!(
            r#"select r.organization_id, r.id, r.name, r.pool_id, r.revoked_at is not null as "revoked!"
             from runners r where r.secret_hash = $1"#,
            hash.as_slice(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| {
            let principal = RunnerPrincipal {
                organization_id: row.organization_id.into(),
                id: row.id.into(),
                name: row.name,
                pool_id: row.pool_id.into(),
            };
            AuthenticatedRunner { principal, is_revoked: row.revoked }
        }))
    }
}
