//! The owner of a deployment. The right to change the deployment depends on it.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::Purpose;
use greenroom_domain::id::{DeploymentId, PipelineId, SessionId, TokenId, UserId};
use greenroom_domain::owner::{Owner, ServiceToken};

use crate::StoreError;
use crate::token_columns::service_token;
use crate::transaction::OrgTransaction;

/// What the right to change a deployment depends on. The deployment's row is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentOwnership {
    pub pipeline_id: PipelineId,
    pub purpose: Purpose,
    /// `None` for a deployment of the whole pipeline.
    pub session: Option<SessionOwner>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOwner {
    pub id: SessionId,
    pub user_id: UserId,
    pub user_name: String,
    pub user_kind: String,
    /// The token that claimed the session, if the user is a service account.
    pub token: Option<ServiceToken>,
}

impl SessionOwner {
    pub fn owner(&self) -> Owner {
        Owner { user: self.user_id, token: self.token.as_ref().map(|token| token.id) }
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Locks the rows of a deployment and its environment, and then reads the session.
    pub async fn lock_ownership(
        &mut self,
        id: DeploymentId,
    ) -> Result<Option<DeploymentOwnership>, StoreError> {
        let Some(deployment) = self.lock_without_stages(id).await? else { return Ok(None) };
        let organization = self.organization();
        let session = sqlx::query!(
            "select id, user_id, user_name, user_kind, owner_token_id, token_name from sessions
             where organization_id = $1 and id = $2",
            organization,
            deployment.session_id,
        )
        .fetch_optional(self.connection())
        .await?;
        let session = session.map(|row| SessionOwner {
            id: row.id.into(),
            user_id: row.user_id.into(),
            user_name: row.user_name,
            user_kind: row.user_kind,
            token: service_token(row.owner_token_id, row.token_name),
        });
        Ok(Some(DeploymentOwnership {
            pipeline_id: deployment.pipeline_id,
            purpose: deployment.purpose,
            session,
        }))
    }

    /// Returns the pipeline of a deployment, and the owner of its session, if it has one. Neither ever changes, so nothing is
    /// locked.
    pub async fn owner_of_deployment(
        &mut self,
        id: DeploymentId,
    ) -> Result<Option<(PipelineId, Option<Owner>)>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.pipeline_id, s.user_id as "user_id?", s.owner_token_id
               from deployments d left join sessions s on s.organization_id = $1 and s.id = d.session_id
               where d.organization_id = $1 and d.id = $2"#,
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let owner =
            row.user_id.map(|user| Owner { user: user.into(), token: row.owner_token_id.map(TokenId::from) });
        Ok(Some((row.pipeline_id.into(), owner)))
    }
}
