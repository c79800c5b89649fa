//! Whose a deployment is, read with its row locked: what a right to change it depends on.

use greenroom_domain::deployment::Purpose;
use greenroom_domain::id::{DeploymentId, SessionId, UserId};

use crate::StoreError;
use crate::change::Change;

/// A deployment whose row this transaction holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedDeployment {
    pub purpose: Purpose,
    /// Null for a deployment of the whole pipeline.
    pub session: Option<SessionOwner>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOwner {
    pub id: SessionId,
    pub user_id: UserId,
    pub user_name: String,
    pub user_kind: String,
}

impl Change {
    /// Locks the rows of a deployment and its environment, and reads the session as it is after that.
    pub async fn lock_deployment(
        &mut self,
        id: DeploymentId,
    ) -> Result<Option<LockedDeployment>, StoreError> {
        let Some(held) = self.hold_without_stages(id).await? else { return Ok(None) };
        let organization = self.organization();
        let session = sqlx::query!(
            "select id, user_id, user_name, user_kind from sessions where organization_id = $1 and id = $2",
            organization,
            held.session_id,
        )
        .fetch_optional(self.connection())
        .await?;
        let session = session.map(|row| SessionOwner {
            id: row.id.into(),
            user_id: row.user_id.into(),
            user_name: row.user_name,
            user_kind: row.user_kind,
        });
        Ok(Some(LockedDeployment { purpose: held.purpose, session }))
    }
}
