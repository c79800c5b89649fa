//! What stages would do now, as far as the rows determine it.

use std::collections::BTreeMap;

use greenroom_domain::approval::{Gate, NeededStage, Subject, SubjectCache, SubjectDigest, SubjectInput};
use greenroom_domain::cache::cache_access;
use greenroom_domain::definition::{Cache, Definition, Stage as DefinedStage};
use greenroom_domain::deployment::Stage;
use greenroom_domain::text::CommitId;

use crate::StoreError;
use crate::deployment::LockedDeployment;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    /// Returns the digests of what the stages would do whose approvals are open or decided. Those of stages whose needs
    /// have not succeeded yet are not used.
    pub(crate) async fn present_subjects(
        &mut self,
        deployment: &LockedDeployment,
        definition: &Definition,
    ) -> Result<BTreeMap<String, SubjectDigest>, StoreError> {
        let mut subjects = BTreeMap::new();
        let is_bound = |stage: &&Stage| {
            !stage.status.is_final() && matches!(stage.gate, Gate::Pending { .. } | Gate::Approved { .. })
        };
        for stage in deployment.state.stages.iter().filter(is_bound) {
            if let Some(subject) = self.subject_of(deployment, definition, stage).await? {
                subjects.insert(stage.key.clone(), subject.digest());
            }
        }
        Ok(subjects)
    }

    /// Returns what a stage would do; `None` if the definition does not have it, or the commit id is not complete.
    pub(super) async fn subject_of(
        &mut self,
        deployment: &LockedDeployment,
        definition: &Definition,
        stage: &Stage,
    ) -> Result<Option<Subject>, StoreError> {
        let (Some(defined), Ok(commit)) =
            (definition.stage(&stage.key), CommitId::new(&deployment.commit_id))
        else {
            return Ok(None);
        };
        let organization = self.organization();
        let digest = sqlx::query_scalar!(
            "select digest from pipeline_versions where organization_id = $1 and pipeline_id = $2 and version = $3",
            organization,
            deployment.pipeline_id.uuid(),
            deployment.definition_version(),
        )
        .fetch_one(self.connection())
        .await?;
        let needs = self.needed_stages(deployment, stage).await?;
        let caches = self.subject_caches(deployment, definition, defined).await?;
        Ok(Subject::new(&SubjectInput {
            definition: &digest,
            stage: defined,
            locked_steps: &definition.locked_steps,
            environment: deployment.environment.as_ref().map(|(_, name)| name.as_str()),
            commit: &commit,
            branch: deployment.branch(),
            needs: &needs,
            caches: &caches,
        }))
    }

    /// Returns the caches that a stage would get now.
    async fn subject_caches(
        &mut self,
        deployment: &LockedDeployment,
        definition: &Definition,
        stage: &DefinedStage,
    ) -> Result<Vec<SubjectCache>, StoreError> {
        let zones = cache_access(definition, deployment.purpose, deployment.has_repository, None).read;
        let pool = deployment.stage_columns.get(&stage.key).map_or("", |columns| columns.pool.as_str());
        let mut caches = Vec::new();
        for Cache { key, .. } in &stage.caches {
            let found = self.readable_cache(deployment.pipeline_id, (stage, pool), key, zones).await?;
            caches.extend(found.map(|cache| SubjectCache { key: key.clone(), sha256: cache.sha256 }));
        }
        Ok(caches)
    }

    async fn needed_stages(
        &mut self,
        deployment: &LockedDeployment,
        stage: &Stage,
    ) -> Result<Vec<NeededStage>, StoreError> {
        if stage.needs.is_empty() {
            return Ok(Vec::new());
        }
        let organization = self.organization();
        let rows = sqlx::query!(
            r#"select s.key,
                   (select a.sha256 from artifacts a
                    where a.organization_id = $1 and a.deployment_id = $2 and a.stage_key = s.key and a.job_id = j.id
                    order by a.id desc limit 1) as artifact,
                   (select jsonb_object_agg(r.position || '.' || o.key, o.value)
                    from step_runs r cross join jsonb_each_text(r.outputs) o
                    where r.organization_id = $1 and r.job_id = j.id) as outputs
               from stages s
               join jobs j on j.organization_id = $1 and j.deployment_id = $2 and j.stage_key = s.key
                   and j.attempt = s.attempt
               where s.organization_id = $1 and s.deployment_id = $2 and s.key = any($3)"#,
            organization,
            deployment.id.uuid(),
            &stage.needs,
        )
        .fetch_all(self.connection())
        .await?;
        let needed = rows.into_iter().map(|row| {
            let outputs = row.outputs.map(serde_json::from_value).transpose();
            let outputs = outputs.map_err(|error| StoreError::Unreadable {
                column: "step_runs.outputs",
                value: error.to_string(),
            })?;
            Ok(NeededStage { key: row.key, artifact: row.artifact, outputs: outputs.unwrap_or_default() })
        });
        needed.collect()
    }
}
