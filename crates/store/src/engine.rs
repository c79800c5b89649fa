//! What the engine asks the store, and what it is told to do. (The bodies come with the store's own change.)

use std::time::Duration;

use greenroom_domain::id::{DeploymentId, JobId, OrganizationId, PoolId};

use crate::{Store, StoreError};

/// What the engine has to do for a deployment, as of now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    /// It has ended, or there is no such deployment: nothing more is to be done.
    pub ended: bool,
    /// Jobs that wait for a runner: all of them, whether or not they were dispatched before.
    pub dispatch: Vec<Dispatch>,
    /// Jobs that were given up while they waited, so that their tasks can be taken from the pool's queue. Tidiness only:
    /// may be left out, and must not name a job that a runner has.
    pub withdrawn: Vec<JobId>,
    /// When to ask again, if nothing happens before.
    pub again_in: Option<Duration>,
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
    /// Takes a deployment as far as it goes, in one transaction. Safe to repeat, at any time and by anybody.
    pub async fn advance_deployment(
        &self,
        _organization: OrganizationId,
        _deployment: DeploymentId,
    ) -> Result<Advance, StoreError> {
        self.ping().await?;
        Ok(Advance { ended: true, dispatch: Vec::new(), withdrawn: Vec::new(), again_in: None })
    }

    /// Takes up to `batch` that are due; each is put off for a while, so that it comes again if whoever took it dies.
    pub async fn take_wakes(&self, _batch: i64) -> Result<Vec<Wake>, StoreError> {
        self.ping().await?;
        Ok(Vec::new())
    }

    /// These were delivered.
    pub async fn wakes_done(&self, _ids: &[i64]) -> Result<(), StoreError> {
        self.ping().await
    }

    /// Wakes every live deployment, in all organizations: an engine that has lost everything is rebuilt by it.
    pub async fn wake_all(&self) -> Result<u64, StoreError> {
        self.ping().await?;
        Ok(0)
    }
}
