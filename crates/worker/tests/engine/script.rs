//! What the store would say of deployments whose jobs come one after the other.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use greenroom_domain::id::{DeploymentId, InstallationId, JobId, OrganizationId, PoolId};
use greenroom_store::engine::{Advance, Dispatch};
use greenroom_worker::engine::Advances;
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
    /// It goes on although all of its jobs are done, as if somebody had to approve something.
    pub stays: bool,
    pub again_in: Option<Duration>,
    pub asked: usize,
}

pub struct Script {
    pub installation: InstallationId,
    pub organization: OrganizationId,
    pub pool: PoolId,
    records: Mutex<HashMap<DeploymentId, Record>>,
    /// Answers wait for this while it is closed.
    door: Semaphore,
    away: AtomicBool,
}

const OPEN: usize = 1_000;

impl Script {
    pub fn new() -> Self {
        Self::with_pool(Uuid::now_v7().into())
    }

    pub fn with_pool(pool: PoolId) -> Self {
        Self {
            installation: Uuid::now_v7().into(),
            organization: Uuid::now_v7().into(),
            pool,
            records: Mutex::default(),
            door: Semaphore::new(OPEN),
            away: AtomicBool::new(false),
        }
    }

    pub fn deployment(&self, jobs: usize) -> DeploymentId {
        let id = DeploymentId::from(Uuid::now_v7());
        let jobs = (0..jobs).map(|_| (JobId::from(Uuid::now_v7()), State::Waiting)).collect();
        let record = Record { jobs, withdrawn: Vec::new(), stays: false, again_in: None, asked: 0 };
        self.records.lock().unwrap().insert(id, record);
        id
    }

    pub fn with<T>(&self, deployment: DeploymentId, look: impl FnOnce(&mut Record) -> T) -> T {
        look(self.records.lock().unwrap().get_mut(&deployment).unwrap())
    }

    pub fn set(&self, deployment: DeploymentId, job: JobId, state: State) {
        self.with(deployment, |record| {
            record.jobs.iter_mut().find(|(id, _)| *id == job).unwrap().1 = state;
        });
    }

    pub fn job(&self, deployment: DeploymentId, number: usize) -> JobId {
        self.with(deployment, |record| record.jobs[number].0)
    }

    pub fn asked(&self, deployment: DeploymentId) -> usize {
        self.with(deployment, |record| record.asked)
    }

    /// From now on questions are heard and wait for their answers.
    pub async fn shut(&self) {
        self.door.acquire_many(OPEN as u32).await.unwrap().forget();
    }

    pub fn open(&self) {
        self.door.add_permits(OPEN);
    }

    /// The database is away, or back.
    pub fn away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    pub async fn answer(
        &self,
        deployment: DeploymentId,
    ) -> Result<Option<Advance>, Box<dyn Error + Send + Sync>> {
        if !self.records.lock().unwrap().contains_key(&deployment) {
            return Ok(None);
        }
        let advance = self.with(deployment, |record| {
            record.asked += 1;
            let current = record.jobs.iter().find(|(_, state)| *state != State::Done);
            let dispatch = match current {
                Some((job_id, State::Waiting)) => vec![Dispatch { job_id: *job_id, pool_id: self.pool }],
                _ => Vec::new(),
            };
            Advance {
                ended: current.is_none() && !record.stays,
                dispatch,
                withdrawn: record.withdrawn.clone(),
                again_in: record.again_in,
                woke: false,
            }
        });
        // What is answered was true when the question came: the worst case for whoever changes something meanwhile.
        drop(self.door.acquire().await?);
        if self.away.load(Ordering::SeqCst) { Err("the database is away".into()) } else { Ok(Some(advance)) }
    }
}

impl Advances for Script {
    fn advance(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> BoxFuture<'_, Result<Option<Advance>, Box<dyn Error + Send + Sync>>> {
        assert_eq!(organization, self.organization);
        Box::pin(self.answer(deployment))
    }
}
