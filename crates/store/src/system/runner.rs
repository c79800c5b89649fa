//! Which runner is asking: from a token's hash to its principal.

use greenroom_domain::token::TokenHash;

use crate::job::RunnerPrincipal;
use crate::{Store, StoreError};

impl Store {
    /// The runner of a token, and whether that was revoked.
    pub async fn authenticate_runner(
        &self,
        hash: &TokenHash,
    ) -> Result<Option<(RunnerPrincipal, bool)>, StoreError> {
        let row = sqlx::query!(
            r#"select r.organization_id, r.id, r.name, r.pool_id, r.revoked_at is not null as "revoked!"
             from runners r where r.secret_hash = $1"#,
            hash.as_slice(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| {
            let runner = RunnerPrincipal {
                organization_id: row.organization_id.into(),
                id: row.id.into(),
                name: row.name,
                pool_id: row.pool_id.into(),
            };
            (runner, row.revoked)
        }))
    }
}
