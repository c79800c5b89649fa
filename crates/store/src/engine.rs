//! What the engine asks the store: how a deployment goes on, and whom to wake. The engine drives and decides nothing.

use std::time::Duration;

use greenroom_domain::id::{DeploymentId, JobId, OrganizationId, PoolId};

use crate::change::Change;
use crate::deployment::Advanced;
use crate::planted::{self, Bug};
use crate::{Store, StoreError};

/// What the engine has to do for a deployment, as of now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    /// It has ended: nothing more is to be done.
    pub ended: bool,
    /// Jobs that wait for a runner: all of them, whether or not they were dispatched before.
    pub dispatch: Vec<Dispatch>,
    /// Jobs that nobody took and nobody is to take any more.
    pub withdrawn: Vec<JobId>,
    /// When to ask again, if nothing happens before.
    pub again_in: Option<Duration>,
    /// Others were woken by it: the relay has something to deliver.
    pub woke: bool,
}

impl Advance {
    pub(crate) const ENDED: Self =
        Self { ended: true, dispatch: Vec::new(), withdrawn: Vec::new(), again_in: None, woke: false };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    pub job_id: JobId,
    pub pool_id: PoolId,
}

/// Somebody has changed something that a deployment's workflow should look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    pub id: i64,
    pub organization_id: OrganizationId,
    pub deployment_id: DeploymentId,
}

impl Store {
    /// Takes a deployment as far as it goes. What changes, changes in one transaction. Safe to repeat, at any time and by anybody.
    /// `None`: there is no such deployment.
    pub async fn advance_deployment(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> Result<Option<Advance>, StoreError> {
        let mut made = None;
        loop {
            let mut change = self.change_by_clock(organization).await?;
            match change.advance(deployment, made.take()).await? {
                Advanced::Done(advance) => {
                    let woke = change.wakes();
                    change.commit().await?;
                    return Ok(Some(Advance { woke, ..advance }));
                }
                Advanced::Missing => return Ok(None),
                Advanced::NeedsPlan(inputs, definition) => {
                    // Conditions are evaluated while nothing is locked. Only a renamed pipeline makes a second round.
                    drop(change);
                    made = Some(inputs.make_apart(organization, definition).await?);
                }
            }
        }
    }
}

impl Change {
    /// Has the deployment's workflow look at it, once this change is there to be seen.
    pub(crate) async fn wake(&mut self, deployment: DeploymentId) -> Result<(), StoreError> {
        if planted::is(Bug::WakeForgotten) && deployment.uuid().as_bytes()[15].is_multiple_of(4) {
            return Ok(());
        }
        let organization = self.organization();
        sqlx::query!(
            "insert into wakes (organization_id, deployment_id) values ($1, $2)",
            organization,
            deployment.uuid()
        )
        .execute(self.connection())
        .await?;
        self.note_wake();
        Ok(())
    }
}
