//! Where a job runs: what the policies of secrets decide by.

use greenroom_domain::deployment::Purpose;
use greenroom_domain::id::{JobId, PipelineId};
use greenroom_domain::runner_pool::target_environment;
use greenroom_domain::secret::{Branch, Place};

use crate::StoreError;
use crate::error::parse_column;
use crate::transaction::OrgTransaction;

pub(super) struct JobPlace {
    pipeline: PipelineId,
    pub(super) definition_version: i32,
    purpose: Purpose,
    /// The environment of the deployment's session.
    environment: Option<String>,
    pool: String,
    proven_branch: Option<String>,
}

impl JobPlace {
    /// `stage_environment` is the lasting environment to which the job's stage deploys.
    pub(super) fn place<'a>(&'a self, stage_environment: Option<&'a str>) -> Place<'a> {
        Place {
            pipeline: self.pipeline,
            environment: target_environment(self.purpose, self.environment.as_deref(), stage_environment),
            pool: &self.pool,
            branch: Branch::Proven(self.proven_branch.as_deref()),
        }
    }
}

impl OrgTransaction {
    pub(super) async fn job_place(&mut self, job: JobId) -> Result<JobPlace, StoreError> {
        let row = sqlx::query!(
            r#"select d.pipeline_id, d.purpose, d.definition_version, e.name as "environment?", p.name as pool, j.proven_branch
               from jobs j
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join runner_pools p on p.organization_id = $1 and p.id = j.pool_id
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where j.organization_id = $1 and j.id = $2"#,
            self.organization(),
            job.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(JobPlace {
            pipeline: row.pipeline_id.into(),
            definition_version: row.definition_version,
            purpose: parse_column("deployments.purpose", &row.purpose)?,
            environment: row.environment,
            pool: row.pool,
            proven_branch: row.proven_branch,
        })
    }
}
