//! The relay, with an engine that is stopped and restarted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_engine::{Engine, EngineError};
use greenroom_store::StoreError;
use greenroom_store::engine::WakeUp;
use greenroom_worker::relay::{self, Outbox, RelayBell, WakeUpTarget};
use tokio_util::sync::CancellationToken;

use crate::fixture::{EngineFixture, engine_of, until};

/// Every wake-up with whether it was taken, and the ids of those that were put off.
#[derive(Clone, Default)]
struct ListOutbox(Arc<Mutex<Vec<(WakeUp, bool)>>>, Arc<Mutex<Vec<i64>>>);

impl ListOutbox {
    fn add(&self, wake: WakeUp) {
        self.0.lock().unwrap().push((wake, false));
    }

    fn remaining(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Outbox for ListOutbox {
    async fn take(&self, batch: i64) -> Result<Vec<WakeUp>, StoreError> {
        let mut outbox = self.0.lock().unwrap();
        let waiting = outbox.iter_mut().filter(|(_, taken)| !*taken).take(usize::try_from(batch).unwrap());
        Ok(waiting
            .map(|(wake, taken)| {
                *taken = true;
                *wake
            })
            .collect())
    }

    async fn done(&self, ids: &[i64]) -> Result<(), StoreError> {
        self.0.lock().unwrap().retain(|(wake, _)| !ids.contains(&wake.id));
        Ok(())
    }

    async fn put_off(&self, ids: &[i64]) -> Result<(), StoreError> {
        self.1.lock().unwrap().extend(ids);
        Ok(())
    }
}

/// The real engine, except that it fails for one deployment as it would with a damaged history.
struct FailingEngine {
    engine: Engine,
    deployment: DeploymentId,
}

impl WakeUpTarget for FailingEngine {
    async fn identified(&self) {
        self.engine.identified().await;
    }

    async fn wake(&self, organization: OrganizationId, deployment: DeploymentId) -> Result<(), EngineError> {
        if deployment == self.deployment {
            return Err(EngineError::Unavailable("the history of this workflow can't be read".into()));
        }
        self.engine.wake(organization, deployment).await
    }

    async fn ping(&self) -> Result<(), EngineError> {
        self.engine.ping().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_wake_up_is_put_off_and_the_others_are_delivered() {
    let fixture = EngineFixture::with_worker().await;
    let (outbox, bell, stop) = (ListOutbox::default(), RelayBell::default(), CancellationToken::new());
    // The damaged deployment has the lowest id, so that it comes first if the relay delivers in the order of
    // ids.
    let damaged = fixture.store.deployment(0);
    let engine = FailingEngine { engine: engine_of(&fixture.temporal, &fixture.store), deployment: damaged };
    let relaying = relay::run(outbox.clone(), engine, bell.clone(), stop.clone());
    let running = tokio::task::JoinSet::from_iter([relaying]);
    let wake = |id: i64, deployment_id| {
        outbox.add(WakeUp { id, organization_id: fixture.store.organization, deployment_id });
    };
    wake(0, damaged);
    let others: Vec<_> = (1..=40).map(|_| fixture.store.deployment(0)).collect();
    for (id, deployment) in (1..).zip(&others) {
        wake(id, *deployment);
    }
    bell.ring();
    until("all others are delivered", async || outbox.remaining() == 1).await;
    until("the refused one is put off", async || *outbox.1.lock().unwrap() == [0]).await;
    let late = fixture.store.deployment(0);
    wake(41, late);
    bell.ring();
    until("a later wake-up is delivered", async || outbox.remaining() == 1).await;
    for deployment in others.into_iter().chain([late]) {
        fixture.until_advanced(deployment, 1).await;
    }
    assert_eq!(fixture.store.advance_count(damaged), 0);
    stop.cancel();
    running.join_all().await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wake_ups_are_kept_during_an_outage_and_delivered_afterwards() {
    let mut fixture = EngineFixture::with_worker_and_own_temporal().await;
    let (outbox, bell, stop) = (ListOutbox::default(), RelayBell::default(), CancellationToken::new());
    let engine = engine_of(&fixture.temporal, &fixture.store);
    let relaying = relay::run(outbox.clone(), engine, bell.clone(), stop.clone());
    let running = tokio::task::JoinSet::from_iter([relaying]);
    let wake = |id: i64| {
        let deployment_id = fixture.store.deployment(0);
        outbox.add(WakeUp { id, organization_id: fixture.store.organization, deployment_id });
        deployment_id
    };

    let first = wake(0);
    bell.ring();
    until("the first is delivered", async || outbox.remaining() == 0).await;
    fixture.until_completed(first).await;

    let later: Vec<_> = {
        let during: Vec<_> = (1..=40).map(&wake).collect();
        during
    };
    fixture.temporal.kill().await;
    let even_later = fixture.store.deployment(0);
    outbox.add(WakeUp { id: 41, organization_id: fixture.store.organization, deployment_id: even_later });
    bell.ring();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(outbox.remaining() >= 1, "undelivered wake-ups are kept");

    fixture.temporal.start().await;
    until("all are delivered", async || outbox.remaining() == 0).await;
    for deployment in later.into_iter().chain([even_later]) {
        fixture.until_advanced(deployment, 1).await;
    }
    stop.cancel();
    running.join_all().await;
    fixture.end().await;
}
