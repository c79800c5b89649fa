//! What a stage did when it last succeeded in the environment of an approval.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::Definition;
use greenroom_domain::id::{DeploymentId, OrganizationId};
use jiff::Timestamp;
use sqlx::PgConnection;

use super::read::ApprovalRecord;
use crate::{Command, Store, StoreError};

/// How many older deployments of the pipeline are looked at, if the stage deploys to no lasting environment.
const MAX_OLDER: i64 = 200;

#[derive(Clone, Debug)]
pub struct PreviousSuccess {
    pub deployment: DeploymentId,
    pub commit_id: String,
    /// The digest of the definition, and the definition.
    pub definition_digest: String,
    pub definition: Definition,
    pub at: Timestamp,
}

#[boxed_futures]
impl Store {
    /// Returns what is live in the lasting environment of an approval; of another approval, the last older deployment in
    /// which its stage has succeeded.
    pub async fn success_before(
        &self,
        organization: OrganizationId,
        approval: &ApprovalRecord,
    ) -> Result<Option<PreviousSuccess>, StoreError> {
        let mut connection = self.pool().acquire().await?;
        read(&mut connection, organization.uuid(), approval).await
    }
}

#[boxed_futures]
impl Command {
    /// Like [`Store::success_before`].
    pub async fn success_before(
        &mut self,
        approval: &ApprovalRecord,
    ) -> Result<Option<PreviousSuccess>, StoreError> {
        let organization = self.organization();
        read(self.connection(), organization, approval).await
    }
}

async fn read(
    connection: &mut PgConnection,
    organization: uuid::Uuid,
    approval: &ApprovalRecord,
) -> Result<Option<PreviousSuccess>, StoreError> {
    // Written so that no plan is slow when the tables have grown since they were analyzed: what is found is one row
    // (`materialized`), and each stage is read by its key (`lateral`).
    let row = sqlx::query!(
        r#"with own as (select environment_id from deployments where organization_id = $1 and id = $4),
           found as materialized (
               select e.live_deployment_id as id, e.live_at as at
               from lasting_environments e, own
               where e.organization_id = $1 and e.pipeline_id = $2 and e.name = $5 and own.environment_id is null
                 and e.live_deployment_id <> $4
               union all
               (select d.id, s.ended_at
                from own
                cross join (select o.id, o.environment_id from deployments o
                            where o.organization_id = $1 and o.pipeline_id = $2 and o.id < $4 order by o.id desc limit $6) d
                cross join lateral (select ended_at from stages
                                    where organization_id = $1 and deployment_id = d.id and key = $3 and status = 'succeeded'
                                    limit 1) s
                where d.environment_id is not distinct from own.environment_id
                  and (own.environment_id is not null or $5::text is null)
                order by d.id desc limit 1)
           )
           select d.id, found.at as "at!", d.commit_id, v.digest, v.definition
           from found
           join deployments d on d.organization_id = $1 and d.id = found.id
           join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = $2 and v.version = d.definition_version
           limit 1"#,
        organization,
        approval.pipeline_id.uuid(),
        approval.stage,
        approval.deployment_id.uuid(),
        approval.environment,
        MAX_OLDER,
    )
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let definition = serde_json::from_value(row.definition).map_err(|error| StoreError::Unreadable {
        column: "pipeline_versions.definition",
        value: error.to_string(),
    })?;
    Ok(Some(PreviousSuccess {
        deployment: row.id.into(),
        commit_id: row.commit_id,
        definition_digest: row.digest,
        definition,
        at: row.at.to_jiff(),
    }))
}
