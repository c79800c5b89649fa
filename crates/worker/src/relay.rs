//! Takes wakes from the outbox to the engine: at once when this daemon has written one, and every so often for what others
//! wrote. A wake stays in the outbox until the engine has taken it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_store::engine::Wake;
use greenroom_store::{Store, StoreError, within_patience};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, EngineError};

const BATCH: i64 = 200;
const AT_ONCE: usize = 16;
/// How soon wakes are found that another daemon wrote and did not get to deliver itself.
const IDLE: Duration = Duration::from_millis(500);
const AFTER_ERROR: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// An engine that nothing was sent to for so long is asked whether it is there, so that an outage shows before it matters.
const SILENCE: Duration = Duration::from_secs(15);

/// By which a command that has committed wakes the relay of its own daemon.
#[derive(Clone, Debug, Default)]
pub struct RelayBell(Arc<Notify>);

impl RelayBell {
    pub fn ring(&self) {
        self.0.notify_one();
    }
}

/// Where wakes wait: the store, or a test's list.
pub trait Outbox: Send + Sync + 'static {
    fn take(&self, batch: i64) -> impl Future<Output = Result<Vec<Wake>, StoreError>> + Send;
    fn done(&self, ids: &[i64]) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// To be tried again later, each time after a longer delay.
    fn put_off(&self, ids: &[i64]) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl Outbox for Store {
    async fn take(&self, batch: i64) -> Result<Vec<Wake>, StoreError> {
        within_patience(self.take_wakes(batch)).await
    }

    async fn done(&self, ids: &[i64]) -> Result<(), StoreError> {
        within_patience(self.wakes_done(ids)).await
    }

    async fn put_off(&self, ids: &[i64]) -> Result<(), StoreError> {
        within_patience(self.put_off_wakes(ids)).await
    }
}

/// Who takes wake-ups: the engine, or a test's version of it.
pub trait Wakes: Send + Sync + 'static {
    /// Waits until wake-ups can be sent at all.
    fn identified(&self) -> impl Future<Output = ()> + Send;
    fn wake(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> impl Future<Output = Result<(), EngineError>> + Send;
    fn ping(&self) -> impl Future<Output = Result<(), EngineError>> + Send;
}

impl Wakes for Engine {
    async fn identified(&self) {
        Self::identified(self).await;
    }

    async fn wake(&self, organization: OrganizationId, deployment: DeploymentId) -> Result<(), EngineError> {
        Self::wake(self, organization, deployment).await
    }

    async fn ping(&self) -> Result<(), EngineError> {
        Self::ping(self).await
    }
}

/// Runs until it is told to stop.
pub async fn run(outbox: impl Outbox, engine: impl Wakes, bell: RelayBell, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => return,
        () = engine.identified() => {}
    }
    let mut relay = Relay { engine, held: Rounds::default(), outage: None, heard: Instant::now() };
    loop {
        let pause = match relay.once(&outbox).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the outbox could not be read; trying again"
                );
                AFTER_ERROR
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            // The bell shortens an idle wait only: ringing can't make a relay spin that waits for the engine.
            () = bell.0.notified(), if pause == IDLE => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Several wakes of one deployment are one call.
type Rounds = BTreeMap<(OrganizationId, DeploymentId), Vec<i64>>;

struct Relay<W> {
    engine: W,
    /// Taken from the outbox and not delivered yet. It holds one batch at most; all the rest stays where it is safe.
    held: Rounds,
    outage: Option<Outage>,
    /// When the engine was last known to be there.
    heard: Instant,
}

struct Outage {
    since: Instant,
    pause: Duration,
}

/// The ids of the wake-ups that the engine has taken, and of those that it has not.
#[derive(Default)]
struct Delivery {
    delivered: Vec<i64>,
    refused: Vec<i64>,
}

/// A workflow that is just closing, or a limit that is reached, is no defect.
fn report(error: &EngineError, deployment: DeploymentId) {
    if let EngineError::Busy(_) = error {
        return;
    }
    metrics::counter!("greenroom_wakes_refused_total").increment(1);
    tracing::error!(
        error = error as &dyn std::error::Error,
        %deployment,
        "the engine refused a wake-up; it is put off, and the others go on"
    );
}

impl<W: Wakes> Relay<W> {
    async fn once(&mut self, outbox: &impl Outbox) -> Result<Duration, StoreError> {
        let mut full = false;
        if self.held.is_empty() {
            let taken = outbox.take(BATCH).await?;
            full = taken.len() as i64 >= BATCH;
            for wake in taken {
                self.held.entry((wake.organization_id, wake.deployment_id)).or_default().push(wake.id);
            }
        }
        let Delivery { delivered, refused } = self.deliver().await;
        if !delivered.is_empty() {
            metrics::counter!("greenroom_wakes_delivered_total").increment(delivered.len() as u64);
            outbox.done(&delivered).await?;
        }
        if !refused.is_empty() {
            metrics::counter!("greenroom_wakes_put_off_total").increment(refused.len() as u64);
            outbox.put_off(&refused).await?;
        }
        Ok(match &self.outage {
            Some(outage) => outage.pause,
            None if full => Duration::ZERO,
            None => IDLE,
        })
    }

    /// Sends what is held. One workflow that the engine refuses says nothing about the others: an outage is believed only if
    /// the engine does not answer a ping either. What is refused while it answers is put off, and the others go on.
    async fn deliver(&mut self) -> Delivery {
        // One call finds out whether the engine is back; it is not stormed with what could not be delivered.
        let at_once = if self.outage.is_some() { 1 } else { AT_ONCE };
        let engine = &self.engine;
        let calls: Vec<_> = self.held.keys().copied().collect();
        let mut calls = stream::iter(calls)
            .map(|(organization, deployment)| async move {
                ((organization, deployment), engine.wake(organization, deployment).await)
            })
            .buffer_unordered(at_once);
        let (mut delivery, mut heard) = (Delivery::default(), None);
        while let Some((to, outcome)) = calls.next().await {
            let Err(error) = outcome else {
                delivery.delivered.extend(self.held.remove(&to).unwrap_or_default());
                heard = Some(Ok(()));
                continue;
            };
            if error.is_unavailable()
                && let Err(away) = engine.ping().await
            {
                heard = Some(Err(away));
                break;
            }
            heard = Some(Ok(()));
            delivery.refused.extend(self.held.remove(&to).unwrap_or_default());
            report(&error, to.1);
        }
        drop(calls);
        if heard.is_none() && (self.outage.is_some() || self.heard.elapsed() > SILENCE) {
            heard = Some(self.engine.ping().await);
        }
        if let Some(word) = heard {
            self.note(word);
        }
        delivery
    }

    /// Says once when the engine goes away, and once when it is back.
    fn note(&mut self, word: Result<(), EngineError>) {
        match (word, &mut self.outage) {
            (Err(error), None) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the engine is away: wakes stay in the outbox until it is back"
                );
                self.outage = Some(Outage { since: Instant::now(), pause: IDLE * 2 });
            }
            (Err(_), Some(outage)) => outage.pause = (outage.pause * 2).min(LONGEST_PAUSE),
            (Ok(()), outage) => {
                self.heard = Instant::now();
                if let Some(outage) = outage.take() {
                    let seconds = outage.since.elapsed().as_secs();
                    tracing::info!(seconds, "the engine is back after {seconds} s");
                }
            }
        }
        let lag = self.outage.as_ref().map_or(0.0, |outage| outage.since.elapsed().as_secs_f64());
        metrics::gauge!("greenroom_relay_lag_seconds").set(lag);
    }
}

/// Wakes every live deployment, once: an engine that has lost something gets it back.
pub async fn wake_all(store: Store, bell: RelayBell, stop: CancellationToken) {
    loop {
        match within_patience(store.wake_all()).await {
            Ok(woken) => {
                tracing::info!(woken, "every live deployment is woken: {woken}");
                bell.ring();
                return;
            }
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "live deployments were not woken yet"
                );
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(AFTER_ERROR) => {}
        }
    }
}
