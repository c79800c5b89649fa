//! Giving up: what an operator or an admin ends without its runner. Whatever the runner still does until its next request is
//! not stopped by this; from then on it is rejected.

use greenroom_domain::deployment::{Reason, give_up_stage};
use greenroom_domain::event::EventType;
use greenroom_domain::id::DeploymentId;

use super::ask::Asked;
use crate::StoreError;
use crate::change::Change;
use crate::deployment::person::PersonColumns;

impl Change {
    /// Ends the newest attempt of a stage at once. What needs the stage is skipped, and the others go on.
    pub async fn give_up_stage(
        &mut self,
        id: DeploymentId,
        key: &str,
        why: &str,
    ) -> Result<Asked, StoreError> {
        let Some(mut held) = self.hold_deployment(id).await? else { return Ok(Asked::NoSuchDeployment) };
        if held.state.status.is_end() {
            return Ok(if self.has_stage(id, key).await? { Asked::Nothing } else { Asked::NoSuchStage });
        }
        let before = held.state.clone();
        match give_up_stage(&mut held.state, key) {
            None => return Ok(Asked::NoSuchStage),
            Some(false) => return Ok(Asked::Nothing),
            Some(true) => {}
        }
        self.write_stages(&held, &before).await?;
        let attempt =
            held.state.stages.iter().find(|stage| stage.key == key).map_or(0, |stage| stage.attempt);
        let actor = self.actor().clone();
        self.tell_progress(&held, (&actor, EventType::StageGivenUp), Some((key, attempt)), Some(why)).await?;
        self.settle_given_up(id).await
    }

    /// Ends a deployment and everything of it at once, and passes its work slot on. A teardown that is given up counts as
    /// one that failed.
    pub async fn give_up_deployment(&mut self, id: DeploymentId, why: &str) -> Result<Asked, StoreError> {
        let Some(mut held) = self.hold_deployment(id).await? else { return Ok(Asked::NoSuchDeployment) };
        if held.state.status.is_end() {
            return Ok(Asked::Nothing);
        }
        let before = held.state.clone();
        let keys: Vec<String> = held.state.stages.iter().map(|stage| stage.key.clone()).collect();
        for key in &keys {
            give_up_stage(&mut held.state, key);
        }
        self.write_stages(&held, &before).await?;
        let (organization, by) = (self.organization(), PersonColumns::from(self.actor()));
        sqlx::query!(
            "update deployments
             set cancel_reason = $3, canceled_by = coalesce(canceled_by, $4),
                 canceled_by_name = coalesce(canceled_by_name, $5), canceled_by_kind = coalesce(canceled_by_kind, $6)
             where organization_id = $1 and id = $2",
            organization,
            id.uuid(),
            Reason::GivenUp.as_str(),
            by.id,
            by.name,
            by.kind,
        )
        .execute(self.connection())
        .await?;
        let actor = self.actor().clone();
        self.tell_progress(&held, (&actor, EventType::DeploymentGivenUp), None, Some(why)).await?;
        self.settle_given_up(id).await
    }

    /// Does what the engine would ask for next: the slot passes on even while the engine is down.
    async fn settle_given_up(&mut self, id: DeploymentId) -> Result<Asked, StoreError> {
        self.advance(id, None).await?;
        self.wake(id).await?;
        Ok(Asked::Done)
    }

    async fn has_stage(&mut self, id: DeploymentId, key: &str) -> Result<bool, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            r#"select exists (select 1 from stages
                   where organization_id = $1 and deployment_id = $2 and key = $3) as "has!""#,
            organization,
            id.uuid(),
            key,
        )
        .fetch_one(self.connection())
        .await?)
    }
}
