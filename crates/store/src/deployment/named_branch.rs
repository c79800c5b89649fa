//! The branch that a caller names for a deployment in a session. Conditions use it when the deployment is
//! planned, and every job has to prove it.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, SessionId};

use crate::StoreError;
use crate::transaction::OrgTransaction;

#[boxed_futures]
impl OrgTransaction {
    /// Sets the branch of a deployment that was created in this transaction.
    pub async fn set_branch(&mut self, deployment: DeploymentId, branch: &str) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update deployments set branch = $3 where organization_id = $1 and id = $2",
            organization,
            deployment.uuid(),
            branch,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Stores the branch for the deployment that starts when a queued session is granted.
    pub async fn set_session_branch(&mut self, session: SessionId, branch: &str) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update sessions set branch = $3 where organization_id = $1 and id = $2",
            organization,
            session.uuid(),
            branch,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Copies the branch of a session to its first deployment.
    pub(crate) async fn copy_session_branch(
        &mut self,
        session: SessionId,
        deployment: DeploymentId,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update deployments d set branch = s.branch from sessions s
             where d.organization_id = $1 and d.id = $3 and s.organization_id = $1 and s.id = $2 and s.branch is not null",
            organization,
            session.uuid(),
            deployment.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
