//! Follows deployments for this server's streams. There is one tail per deployment, however many streams
//! follow it. Its streams wake up only when that deployment has changed, and share what was read of it. An
//! idle stream costs no query: one periodic query reads a fingerprint of each followed deployment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use greenroom_api_types::deployment::{Deployment, Stage};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_store::system::deployment_progress::FollowedDeployment;
use greenroom_store::{Store, StoreError, with_db_timeout};
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

const POLL_INTERVAL: Duration = Duration::from_millis(500);

type Key = (OrganizationId, DeploymentId);

#[derive(Default)]
pub struct DeploymentTails {
    tails: Mutex<HashMap<Key, Arc<Tail>>>,
}

struct Tail {
    /// The deployment's fingerprint; `None` before the first poll.
    fingerprint: watch::Sender<Option<i64>>,
    /// What was read last, with the fingerprint before the read. Locked by the stream that reads for all
    /// streams.
    cached: tokio::sync::Mutex<Option<(i64, Arc<DeploymentState>)>>,
}

/// A stream's subscription to a tail.
pub struct Follower {
    tail: Arc<Tail>,
    fingerprint: watch::Receiver<Option<i64>>,
}

/// A deployment at some time.
pub struct DeploymentState {
    pub record: Deployment,
    /// Identifies the state. Two states that differ only in the lengths of logs have the same id.
    pub id: String,
}

#[boxed_futures]
impl DeploymentTails {
    pub fn follow(&self, organization: OrganizationId, deployment: DeploymentId) -> Follower {
        let key = (organization, deployment);
        let mut tails = self.tails();
        let tail = Arc::clone(tails.entry(key).or_insert_with(|| {
            let (fingerprint, cached) = (watch::Sender::new(None), tokio::sync::Mutex::default());
            Arc::new(Tail { fingerprint, cached })
        }));
        // Subscribe with the tails locked, so that `poll` does not remove the tail as one without followers.
        let fingerprint = tail.fingerprint.subscribe();
        Follower { tail, fingerprint }
    }

    pub async fn run(&self, store: Store, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            // Streams stay open while the database is unavailable.
            if let Err(error) = self.poll(&store).await {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "could not poll the followed deployments"
                );
            }
        }
    }

    async fn poll(&self, store: &Store) -> Result<(), StoreError> {
        let followed: Vec<Key> = {
            let mut tails = self.tails();
            tails.retain(|_, tail| tail.fingerprint.receiver_count() > 0);
            tails.keys().copied().collect()
        };
        metrics::gauge!("greenroom_followed_deployments").set(followed.len() as f64);
        if followed.is_empty() {
            return Ok(());
        }
        let found = with_db_timeout(store.followed_deployments(&followed)).await?;
        let tails = self.tails();
        for FollowedDeployment { organization_id, id, fingerprint } in found {
            if let Some(tail) = tails.get(&(organization_id, id)) {
                tail.fingerprint.send_if_modified(|now| now.replace(fingerprint) != Some(fingerprint));
            }
        }
        Ok(())
    }

    fn tails(&self) -> MutexGuard<'_, HashMap<Key, Arc<Tail>>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[boxed_futures]
impl Follower {
    /// Waits until the deployment has changed since the last call. The first call may return without a
    /// change.
    pub async fn changed(&mut self) {
        // This can't fail: the sender is owned by the tail, which is referenced here.
        let _open = self.fingerprint.changed().await;
    }

    /// Returns the deployment after the last change: what another stream has read, or the result of `read`.
    pub async fn state(
        &self,
        read: impl Future<Output = Result<Deployment, Failure>>,
    ) -> Result<Arc<DeploymentState>, Failure> {
        let mut cached = self.tail.cached.lock().await;
        // Read before the deployment: what changes in between has another fingerprint in the next poll.
        let fingerprint = *self.fingerprint.borrow();
        if let Some((at, state)) = &*cached
            && Some(*at) == fingerprint
        {
            return Ok(Arc::clone(state));
        }
        let state = Arc::new(DeploymentState::of(read.await?)?);
        *cached = fingerprint.map(|at| (at, Arc::clone(&state)));
        Ok(state)
    }
}

impl DeploymentState {
    pub fn of(record: Deployment) -> Result<Self, Failure> {
        let stages = record.stages.iter().map(without_log_lengths).collect();
        let comparable = Deployment { stages, ..record.clone() };
        let hash = Sha256::digest(serde_json::to_vec(&comparable).map_err(Failure::internal)?);
        let id = hash.iter().take(16).fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        Ok(Self { record, id })
    }

    /// Returns the deployment with only those stages that differ from an earlier state.
    pub fn since(&self, earlier: &Self) -> Deployment {
        let is_new = |stage: &&Stage| {
            let before = earlier.record.stages.iter().find(|before| before.key == stage.key);
            before.is_none_or(|before| without_log_lengths(before) != without_log_lengths(stage))
        };
        let stages = self.record.stages.iter().filter(is_new).cloned().collect();
        Deployment { stages, ..self.record.clone() }
    }

    pub fn has_ended(&self) -> bool {
        self.record.ended_at.is_some()
    }
}

/// Logs grow all the time, and have streams of their own.
fn without_log_lengths(stage: &Stage) -> Stage {
    let mut stage = stage.clone();
    for step in &mut stage.steps {
        step.log_bytes = 0;
    }
    stage
}
