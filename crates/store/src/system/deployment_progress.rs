//! Fingerprints of the deployments that a server's streams follow, of all organizations.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId};

use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowedDeployment {
    pub organization_id: OrganizationId,
    pub id: DeploymentId,
    /// A hash of the statuses of the deployment, its stages and the steps of their newest attempts, and of
    /// what blocks it. The lengths of logs are not included.
    pub fingerprint: i64,
}

#[boxed_futures]
impl Store {
    /// Returns the fingerprint of each of these deployments, with one query. Deployments that do not exist are
    /// omitted.
    pub async fn followed_deployments(
        &self,
        deployments: &[(OrganizationId, DeploymentId)],
    ) -> Result<Vec<FollowedDeployment>, StoreError> {
        let (organizations, ids): (Vec<uuid::Uuid>, Vec<uuid::Uuid>) =
            deployments.iter().map(|(organization, id)| (organization.uuid(), id.uuid())).unzip();
        let rows = sqlx::query!(
            r#"select d.organization_id, d.id, hashtextextended(jsonb_build_array(d.status, d.reason, d.detail, d.commit_id,
                   d.definition_version, d.canceled_by, d.retried_by, d.expired_at, p.status, e.slot_deployment_id,
                   (select jsonb_agg(jsonb_build_array(s.status, s.reason, s.attempt, s.retry_at, s.canceled_by,
                           s.retried_by, j.status, j.started_at, j.detail,
                           (select jsonb_agg(jsonb_build_array(r.status, r.exit_code, r.image_digest) order by r.position)
                            from step_runs r
                            where r.organization_id = followed.organization_id and r.job_id = j.id))
                       order by s.position)
                    from stages s
                    left join jobs j on j.organization_id = followed.organization_id
                        and j.deployment_id = s.deployment_id and j.stage_key = s.key and j.attempt = s.attempt
                    where s.organization_id = followed.organization_id and s.deployment_id = followed.id))::text, 0)
                   as "fingerprint!"
               from unnest($1::uuid[], $2::uuid[]) as followed (organization_id, id)
               join deployments d on d.organization_id = followed.organization_id and d.id = followed.id
               join pipelines p on p.organization_id = followed.organization_id and p.id = d.pipeline_id
               left join environments e on e.organization_id = followed.organization_id and e.id = d.environment_id"#,
            &organizations,
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| FollowedDeployment {
                organization_id: row.organization_id.into(),
                id: row.id.into(),
                fingerprint: row.fingerprint,
            })
            .collect())
    }
}
