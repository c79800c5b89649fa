//! A stand-in for the store: deployments whose jobs run one after the other.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use greenroom_domain::id::{DeploymentId, InstallationId, JobId, OrganizationId, PoolId};
use greenroom_engine::DeploymentAdvancer;
use greenroom_workflows::contract::{Advanced, AdvancedJob};
use tokio::sync::Semaphore;
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Waiting,
    Running,
    Done,
}

pub struct Record {
    pub jobs: Vec<(JobId, State)>,
    pub withdrawn: Vec<JobId>,
    /// The deployment stays live although all of its jobs are done, as if it waited for an approval.
    pub is_waiting: bool,
    pub again_in: Option<Duration>,
    pub advance_count: usize,
}

pub struct ScriptedStore {
    pub installation: InstallationId,
    pub organization: OrganizationId,
    pub pool: PoolId,
    records: Mutex<HashMap<DeploymentId, Record>>,
    /// Advances wait while there are no permits.
    response_permits: Semaphore,
    is_unavailable: AtomicBool,
}

const PERMITS: usize = 1_000;

impl ScriptedStore {
    pub fn new() -> Self {
        Self::with_pool(Uuid::now_v7().into())
    }

    pub fn with_pool(pool: PoolId) -> Self {
        Self {
            installation: Uuid::now_v7().into(),
            organization: Uuid::now_v7().into(),
            pool,
            records: Mutex::default(),
            response_permits: Semaphore::new(PERMITS),
            is_unavailable: AtomicBool::new(false),
        }
    }

    pub fn deployment(&self, jobs: usize) -> DeploymentId {
        let id = DeploymentId::from(Uuid::now_v7());
        let jobs = (0..jobs).map(|_| (JobId::from(Uuid::now_v7()), State::Waiting)).collect();
        let record =
            Record { jobs, withdrawn: Vec::new(), is_waiting: false, again_in: None, advance_count: 0 };
        self.records.lock().unwrap().insert(id, record);
        id
    }

    pub fn with<T>(&self, deployment: DeploymentId, access: impl FnOnce(&mut Record) -> T) -> T {
        access(self.records.lock().unwrap().get_mut(&deployment).unwrap())
    }

    pub fn set(&self, deployment: DeploymentId, job: JobId, state: State) {
        self.with(deployment, |record| {
            record.jobs.iter_mut().find(|(id, _)| *id == job).unwrap().1 = state;
        });
    }

    pub fn job(&self, deployment: DeploymentId, number: usize) -> JobId {
        self.with(deployment, |record| record.jobs[number].0)
    }

    pub fn advance_count(&self, deployment: DeploymentId) -> usize {
        self.with(deployment, |record| record.advance_count)
    }

    /// From now on advances are counted, but do not return before [`Self::unblock`].
    pub async fn block(&self) {
        self.response_permits.acquire_many(PERMITS as u32).await.unwrap().forget();
    }

    pub fn unblock(&self) {
        self.response_permits.add_permits(PERMITS);
    }

    /// Makes every advance fail as if the database were unreachable, or succeed again.
    pub fn set_unavailable(&self, is_unavailable: bool) {
        self.is_unavailable.store(is_unavailable, Ordering::SeqCst);
    }

    pub async fn advance_once(
        &self,
        deployment: DeploymentId,
    ) -> Result<Option<Advanced>, Box<dyn Error + Send + Sync>> {
        if !self.records.lock().unwrap().contains_key(&deployment) {
            return Ok(None);
        }
        let advance = self.with(deployment, |record| {
            record.advance_count += 1;
            let current = record.jobs.iter().find(|(_, state)| *state != State::Done);
            let dispatch = match current {
                Some((job_id, State::Waiting)) => vec![AdvancedJob { job_id: *job_id, pool_id: self.pool }],
                _ => Vec::new(),
            };
            let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap();
            Advanced {
                ended: current.is_none() && !record.is_waiting,
                missing: false,
                dispatch,
                withdrawn: record.withdrawn.clone(),
                again_in_millis: record.again_in.map(millis),
            }
        });
        // The result was computed before the wait, so that it is as stale as possible when it is returned.
        drop(self.response_permits.acquire().await?);
        if self.is_unavailable.load(Ordering::SeqCst) {
            Err("the database is unreachable".into())
        } else {
            Ok(Some(advance))
        }
    }
}

impl DeploymentAdvancer for ScriptedStore {
    fn advance(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> BoxFuture<'_, Result<Option<Advanced>, Box<dyn Error + Send + Sync>>> {
        assert_eq!(organization, self.organization);
        Box::pin(self.advance_once(deployment))
    }
}
