//! Who may deploy to lasting environments, by the rule `deploy` in the pipeline's definition. The decision is the
//! domain's (`domain/deployment/deploy_rule.rs`).

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::DeployRule;
use greenroom_domain::deployment::{Deployer, deploy_rule, may_deploy};
use greenroom_domain::id::{DeploymentId, PipelineId, UserId};
use greenroom_domain::role_grant::role_on_pipeline;

use crate::StoreError;
use crate::error::parse_column;
use crate::role_grant::granted_roles;
use crate::transaction::OrgTransaction;

#[boxed_futures]
impl OrgTransaction {
    /// Returns those of the environments that the user may not deploy to. `versions` are the current version of the
    /// definition, and the one that the deployment was planned by.
    pub(super) async fn denied_environments(
        &mut self,
        pipeline: PipelineId,
        (current, planned): (i32, i32),
        user: UserId,
        environments: &[String],
    ) -> Result<Vec<String>, StoreError> {
        if environments.is_empty() {
            return Ok(Vec::new());
        }
        let current = self.definition_of(pipeline, current).await?;
        let planned = self.definition_of(pipeline, planned).await?;
        let rules: Vec<(&String, &DeployRule)> = environments
            .iter()
            .filter_map(|name| Some((name, deploy_rule(name, &current, &planned)?)))
            .collect();
        if rules.is_empty() {
            return Ok(Vec::new());
        }
        let groups: Vec<String> = rules.iter().flat_map(|(_, rule)| rule.groups.clone()).collect();
        let deployer = self.deployer(pipeline, user, &groups).await?;
        let denied = rules.into_iter().filter(|(_, rule)| !may_deploy(Some(rule), &deployer));
        Ok(denied.map(|(name, _)| name.clone()).collect())
    }

    /// Returns the user's role on the pipeline, and which of the groups the user is a member of.
    pub async fn deployer(
        &mut self,
        pipeline: PipelineId,
        user: UserId,
        groups: &[String],
    ) -> Result<Deployer, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select m.role,
                      array(select distinct g.role from user_grants g
                          where g.organization_id = $1 and g.pipeline_id = $2 and g.user_id = $3) as "granted: Vec<String>",
                      array(select o.name from group_members i
                          join groups o on o.organization_id = $1 and o.id = i.group_id and o.deleted_at is null
                          where i.organization_id = $1 and i.user_id = $3 and o.name = any($4)) as "groups: Vec<String>"
               from memberships m
               where m.organization_id = $1 and m.user_id = $3 and m.removed_at is null"#,
            organization,
            pipeline.uuid(),
            user.uuid(),
            groups,
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(Deployer { role: None, groups: Vec::new() }) };
        let role = parse_column("memberships.role", &row.role)?;
        let role = role_on_pipeline(role, granted_roles(row.granted)?);
        Ok(Deployer { role: Some(role), groups: row.groups.unwrap_or_default() })
    }

    /// Returns the lasting environment that a stage deploys to, if it does.
    pub async fn environment_of_stage(
        &mut self,
        deployment: DeploymentId,
        stage: &str,
    ) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        let environment = sqlx::query_scalar!(
            "select environment from stages where organization_id = $1 and deployment_id = $2 and key = $3",
            organization,
            deployment.uuid(),
            stage,
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(environment.flatten())
    }
}
