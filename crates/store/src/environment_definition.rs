//! The environments of a pipeline definition: named ones, and those that are created from a template when they
//! are first claimed.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{EnvironmentId, PipelineId};
use greenroom_domain::role::Role;

use crate::StoreError;
use crate::transaction::OrgTransaction;

/// A named environment of a definition.
#[derive(Clone, Debug)]
pub struct DefinedEnvironment {
    pub id: EnvironmentId,
    pub name: String,
    pub labels: Vec<String>,
    pub url: Option<String>,
    pub configuration: serde_json::Value,
    pub default_lease_seconds: i64,
    pub longest_lease_seconds: i64,
    pub force_role: Role,
    pub force_reason_required: bool,
    pub handover_grace_seconds: Option<i64>,
    pub max_stay_seconds: i64,
}

#[boxed_futures]
impl OrgTransaction {
    /// Returns whether an environment of this name exists for claims: it is defined, held or queued for, it
    /// has a deployment, or its failed clean-up will be repeated.
    pub async fn is_environment_offered(
        &mut self,
        pipeline: PipelineId,
        name: &str,
    ) -> Result<bool, StoreError> {
        let organization = self.organization();
        let offered = sqlx::query_scalar!(
            r#"select (listed or session_id is not null or waiters > 0 or slot_deployment_id is not null
                  or cleanup_retry_at is not null) as "offered!" from environments
               where organization_id = $1 and pipeline_id = $2 and name = $3"#,
            organization,
            pipeline.uuid(),
            name,
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(offered.unwrap_or(false))
    }

    /// Creates an environment from a template when it is first claimed. Returns `false` if there are already
    /// `max_environments` of them.
    pub async fn create_from_template(
        &mut self,
        pipeline: PipelineId,
        template: &str,
        max_environments: i64,
        environment: &DefinedEnvironment,
    ) -> Result<bool, StoreError> {
        let organization = self.organization();
        // Locks the pipeline's row, which is shared by all environments of a template.
        sqlx::query!(
            "select id from pipelines where organization_id = $1 and id = $2 for no key update",
            organization,
            pipeline.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let existing = sqlx::query_scalar!(
            r#"select count(*) as "count!" from environments
               where organization_id = $1 and pipeline_id = $2 and template = $3
                 and (session_id is not null or waiters > 0 or slot_deployment_id is not null
                  or cleanup_retry_at is not null)"#,
            organization,
            pipeline.uuid(),
            template,
        )
        .fetch_one(self.connection())
        .await?;
        if existing >= max_environments {
            return Ok(false);
        }
        sqlx::query!(
            "insert into environments
                 (organization_id, pipeline_id, id, name, template, labels, url, configuration,
                  default_lease_seconds, longest_lease_seconds, force_role, force_reason_required, handover_grace_seconds,
                  max_stay_seconds, listed)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, false)
             on conflict (organization_id, pipeline_id, name) do update
                 set labels = excluded.labels, url = excluded.url, configuration = excluded.configuration,
                     default_lease_seconds = excluded.default_lease_seconds,
                     longest_lease_seconds = excluded.longest_lease_seconds,
                     force_role = excluded.force_role, force_reason_required = excluded.force_reason_required,
                     handover_grace_seconds = excluded.handover_grace_seconds,
                     max_stay_seconds = excluded.max_stay_seconds, template = excluded.template",
            organization,
            pipeline.uuid(),
            environment.id.uuid(),
            environment.name,
            template,
            &environment.labels,
            environment.url,
            environment.configuration,
            environment.default_lease_seconds,
            environment.longest_lease_seconds,
            environment.force_role.as_str(),
            environment.force_reason_required,
            environment.handover_grace_seconds,
            environment.max_stay_seconds,
        )
        .execute(self.connection())
        .await?;
        Ok(true)
    }

    /// Replaces the pipeline's named environments by those of its definition. An environment that is no
    /// longer defined is no longer offered, but it keeps its row, and its holder keeps holding it.
    pub async fn define_environments(
        &mut self,
        pipeline: PipelineId,
        defined: &[DefinedEnvironment],
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        for environment in defined {
            sqlx::query!(
                "insert into environments
                     (organization_id, pipeline_id, id, name, labels, url, configuration,
                      default_lease_seconds, longest_lease_seconds, force_role, force_reason_required,
                      handover_grace_seconds, max_stay_seconds)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
                 on conflict (organization_id, pipeline_id, name) do update
                     set labels = excluded.labels, url = excluded.url, configuration = excluded.configuration,
                         default_lease_seconds = excluded.default_lease_seconds,
                         longest_lease_seconds = excluded.longest_lease_seconds,
                         force_role = excluded.force_role, force_reason_required = excluded.force_reason_required,
                         handover_grace_seconds = excluded.handover_grace_seconds,
                         max_stay_seconds = excluded.max_stay_seconds, template = null, listed = true",
                organization,
                pipeline.uuid(),
                environment.id.uuid(),
                environment.name,
                &environment.labels,
                environment.url,
                environment.configuration,
                environment.default_lease_seconds,
                environment.longest_lease_seconds,
                environment.force_role.as_str(),
                environment.force_reason_required,
                environment.handover_grace_seconds,
                environment.max_stay_seconds,
            )
            .execute(self.connection())
            .await?;
        }
        let names: Vec<String> = defined.iter().map(|environment| environment.name.clone()).collect();
        sqlx::query!(
            "update environments set listed = false
             where organization_id = $1 and pipeline_id = $2 and template is null and listed and name <> all($3)",
            organization,
            pipeline.uuid(),
            &names,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
