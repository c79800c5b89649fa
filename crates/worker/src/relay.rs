//! Delivers wake-ups from the outbox to the engine: immediately after this daemon has written one, and
//! periodically for those that other daemons wrote. A wake-up stays in the outbox until the engine has
//! accepted it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_engine::{Engine, EngineError};
use greenroom_store::engine::WakeUp;
use greenroom_store::{Store, StoreError, with_db_timeout};
use greenroom_traces::{Beginning, Span};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::trace;

const BATCH_SIZE: i64 = 200;
const MAX_CONCURRENT_CALLS: usize = 16;
/// How often to poll for wake-ups that another daemon wrote and could not deliver itself.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest delay between two calls during an outage.
const MAX_OUTAGE_DELAY: Duration = Duration::from_secs(10);
/// After this much time without a call the engine is pinged, so that an outage is detected before it matters.
const PING_INTERVAL: Duration = Duration::from_secs(15);

/// Notifies the relay of this daemon after a command has committed a wake-up.
#[derive(Clone, Debug, Default)]
pub struct RelayBell(Arc<Notify>);

impl RelayBell {
    pub fn ring(&self) {
        self.0.notify_one();
    }
}

/// The queue of wake-ups: the store, or a test's list.
pub trait Outbox: Send + Sync + 'static {
    fn take(&self, batch: i64) -> impl Future<Output = Result<Vec<WakeUp>, StoreError>> + Send;
    /// Deletes delivered wake-ups.
    fn done(&self, ids: &[i64]) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Schedules a retry, each time after a longer delay.
    fn put_off(&self, ids: &[i64]) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Returns the span of a delivery, in the trace of its deployment.
    fn span(
        &self,
        _organization: OrganizationId,
        _deployment: DeploymentId,
    ) -> impl Future<Output = Span> + Send {
        std::future::ready(Span::none())
    }
}

impl Outbox for Store {
    async fn take(&self, batch: i64) -> Result<Vec<WakeUp>, StoreError> {
        with_db_timeout(self.lease_wake_ups(batch)).await
    }

    async fn done(&self, ids: &[i64]) -> Result<(), StoreError> {
        with_db_timeout(self.delete_wake_ups(ids)).await
    }

    async fn put_off(&self, ids: &[i64]) -> Result<(), StoreError> {
        with_db_timeout(self.back_off_wake_ups(ids)).await
    }

    async fn span(&self, organization: OrganizationId, deployment: DeploymentId) -> Span {
        trace::span(self, organization, deployment, Beginning::now(), "wake workflow").await
    }
}

/// Receives wake-ups: the engine, or a test's version of it.
pub trait WakeUpTarget: Send + Sync + 'static {
    /// Waits until wake-ups can be sent at all.
    fn identified(&self) -> impl Future<Output = ()> + Send;
    fn wake(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> impl Future<Output = Result<(), EngineError>> + Send;
    fn ping(&self) -> impl Future<Output = Result<(), EngineError>> + Send;
}

impl WakeUpTarget for Engine {
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

/// Runs until shutdown.
pub async fn run(outbox: impl Outbox, engine: impl WakeUpTarget, bell: RelayBell, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => return,
        () = engine.identified() => {}
    }
    let mut relay = Relay { engine, pending: Pending::default(), outage: None, last_contact: Instant::now() };
    loop {
        let delay = match relay.run_round(&outbox).await {
            Ok(delay) => delay,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not read the outbox; retrying"
                );
                RETRY_DELAY
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            // The bell only interrupts the regular poll interval. It does not interrupt the longer delays
            // after errors, so that frequent commands can't make the relay call an unreachable engine in a
            // loop.
            () = bell.0.notified(), if delay == POLL_INTERVAL => {}
            () = tokio::time::sleep(delay) => {}
        }
    }
}

/// The ids of wake-ups by deployment: several wake-ups of one deployment are delivered by one call.
type Pending = BTreeMap<(OrganizationId, DeploymentId), Vec<i64>>;

struct Relay<W> {
    engine: W,
    /// Taken from the outbox and not delivered yet. At most one batch; the rest stays in the database.
    pending: Pending,
    outage: Option<Outage>,
    /// When the engine last responded.
    last_contact: Instant,
}

struct Outage {
    since: Instant,
    delay: Duration,
}

/// The ids of the wake-ups that the engine has accepted, and of those that it has refused.
#[derive(Default)]
struct Delivery {
    delivered: Vec<i64>,
    refused: Vec<i64>,
}

/// Logs a refused wake-up. A workflow that is just closing, or a rate limit, is not an error.
fn log_refusal(error: &EngineError, deployment: DeploymentId) {
    if let EngineError::Busy(_) = error {
        return;
    }
    metrics::counter!("greenroom_wakes_refused_total").increment(1);
    tracing::error!(
        error = error as &dyn std::error::Error,
        %deployment,
        "the engine refused a wake-up; it will be retried later, and the others are delivered"
    );
}

impl<W: WakeUpTarget> Relay<W> {
    /// Takes and delivers one batch. Returns the delay before the next round.
    async fn run_round(&mut self, outbox: &impl Outbox) -> Result<Duration, StoreError> {
        let mut is_full = false;
        if self.pending.is_empty() {
            let taken = outbox.take(BATCH_SIZE).await?;
            is_full = taken.len() as i64 >= BATCH_SIZE;
            for wake in taken {
                self.pending.entry((wake.organization_id, wake.deployment_id)).or_default().push(wake.id);
            }
        }
        let Delivery { delivered, refused } = self.deliver(outbox).await;
        if !delivered.is_empty() {
            metrics::counter!("greenroom_wakes_delivered_total").increment(delivered.len() as u64);
            outbox.done(&delivered).await?;
        }
        if !refused.is_empty() {
            metrics::counter!("greenroom_wakes_put_off_total").increment(refused.len() as u64);
            outbox.put_off(&refused).await?;
        }
        Ok(match &self.outage {
            Some(outage) => outage.delay,
            None if is_full => Duration::ZERO,
            None => POLL_INTERVAL,
        })
    }

    /// Delivers the pending wake-ups. A failure for one workflow does not prove an outage: it counts as one
    /// only if a ping fails too. Otherwise this wake-up is refused, and the others are delivered.
    async fn deliver(&mut self, outbox: &impl Outbox) -> Delivery {
        // During an outage one call finds out whether the engine is back, so that it is not flooded with all
        // pending wake-ups.
        let concurrency = if self.outage.is_some() { 1 } else { MAX_CONCURRENT_CALLS };
        let engine = &self.engine;
        let calls: Vec<_> = self.pending.keys().copied().collect();
        let mut calls = stream::iter(calls)
            .map(|(organization, deployment)| async move {
                let span = outbox.span(organization, deployment).await;
                let outcome = span.run(engine.wake(organization, deployment)).await;
                if outcome.is_err() {
                    span.fail("the engine did not take the wake-up");
                }
                ((organization, deployment), outcome)
            })
            .buffer_unordered(concurrency);
        let (mut delivery, mut contact) = (Delivery::default(), None);
        while let Some((to, outcome)) = calls.next().await {
            let Err(error) = outcome else {
                delivery.delivered.extend(self.pending.remove(&to).unwrap_or_default());
                contact = Some(Ok(()));
                continue;
            };
            if error.is_unavailable()
                && let Err(unreachable) = engine.ping().await
            {
                contact = Some(Err(unreachable));
                break;
            }
            contact = Some(Ok(()));
            delivery.refused.extend(self.pending.remove(&to).unwrap_or_default());
            log_refusal(&error, to.1);
        }
        drop(calls);
        if contact.is_none() && (self.outage.is_some() || self.last_contact.elapsed() > PING_INTERVAL) {
            contact = Some(self.engine.ping().await);
        }
        if let Some(contact) = contact {
            self.update_outage(contact);
        }
        delivery
    }

    /// Logs once when the engine becomes unreachable, and once when it is back.
    fn update_outage(&mut self, contact: Result<(), EngineError>) {
        match (contact, &mut self.outage) {
            (Err(error), None) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the engine is unreachable: wake-ups stay in the outbox until it is back"
                );
                self.outage = Some(Outage { since: Instant::now(), delay: POLL_INTERVAL * 2 });
            }
            (Err(_), Some(outage)) => outage.delay = (outage.delay * 2).min(MAX_OUTAGE_DELAY),
            (Ok(()), outage) => {
                self.last_contact = Instant::now();
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

/// Sends a wake-up to every live deployment, once, so that an engine that has lost workflows gets them back.
pub async fn wake_all_deployments(store: Store, bell: RelayBell, stop: CancellationToken) {
    loop {
        match with_db_timeout(store.wake_all_deployments()).await {
            Ok(woken) => {
                tracing::info!(woken, "sending wake-ups to all {woken} live deployments");
                bell.ring();
                return;
            }
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "could not write wake-ups for live deployments; retrying"
                );
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(RETRY_DELAY) => {}
        }
    }
}
