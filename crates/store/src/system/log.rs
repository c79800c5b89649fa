//! Lengths of the logs that a server's streams follow, of all organizations.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, StepRunId};

use crate::error::from_column;
use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowedLog {
    pub step: StepRunId,
    pub bytes: u64,
    /// The step has ended, so the log is complete.
    pub closed: bool,
}

#[boxed_futures]
impl Store {
    /// Returns the length of each of these logs, with one query. Steps that no longer exist are omitted.
    pub async fn followed_logs(
        &self,
        steps: &[(OrganizationId, StepRunId)],
    ) -> Result<Vec<FollowedLog>, StoreError> {
        let (organizations, ids): (Vec<uuid::Uuid>, Vec<uuid::Uuid>) =
            steps.iter().map(|(organization, step)| (organization.uuid(), step.uuid())).unzip();
        let rows = sqlx::query!(
            r#"select s.id, s.log_bytes, s.ended_at is not null as "closed!"
               from unnest($1::uuid[], $2::uuid[]) as followed (organization_id, id)
               join step_runs s on s.organization_id = followed.organization_id and s.id = followed.id"#,
            &organizations,
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter()
            .map(|row| {
                let bytes = from_column("step_runs.log_bytes", row.log_bytes)?;
                Ok(FollowedLog { step: row.id.into(), bytes, closed: row.closed })
            })
            .collect()
    }
}
