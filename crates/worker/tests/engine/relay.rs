//! The relay, with an engine that comes and goes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_store::StoreError;
use greenroom_store::engine::Wake;
use greenroom_worker::engine::{Engine, EngineError};
use greenroom_worker::relay::{self, Outbox, RelayBell, Wakes};
use tokio_util::sync::CancellationToken;

use crate::site::{Site, engine_of, until};

/// Every wake with whether it was taken, and the ids of those that were put off.
#[derive(Clone, Default)]
struct List(Arc<Mutex<Vec<(Wake, bool)>>>, Arc<Mutex<Vec<i64>>>);

impl List {
    fn add(&self, wake: Wake) {
        self.0.lock().unwrap().push((wake, false));
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Outbox for List {
    async fn take(&self, batch: i64) -> Result<Vec<Wake>, StoreError> {
        let mut list = self.0.lock().unwrap();
        let waiting = list.iter_mut().filter(|(_, taken)| !*taken).take(usize::try_from(batch).unwrap());
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

/// The real engine, which fails for one deployment as a damaged history would make it fail.
struct Damaged {
    engine: Engine,
    deployment: DeploymentId,
}

impl Wakes for Damaged {
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
async fn one_workflow_that_the_engine_refuses_is_put_off_and_the_others_go_on() {
    let site = Site::with_worker().await;
    let (list, bell, stop) = (List::default(), RelayBell::default(), CancellationToken::new());
    // The first by its id: whatever is delivered in the order of ids comes to it before all others.
    let damaged = site.script.deployment(0);
    let engine = Damaged { engine: engine_of(&site.temporal, &site.script), deployment: damaged };
    let relaying = relay::run(list.clone(), engine, bell.clone(), stop.clone());
    let running = tokio::task::JoinSet::from_iter([relaying]);
    let wake = |id: i64, deployment_id| {
        list.add(Wake { id, organization_id: site.script.organization, deployment_id });
    };
    wake(0, damaged);
    let others: Vec<_> = (1..=40).map(|_| site.script.deployment(0)).collect();
    for (id, deployment) in (1..).zip(&others) {
        wake(id, *deployment);
    }
    bell.ring();
    until("all others are delivered", async || list.left() == 1).await;
    until("the one is put off", async || *list.1.lock().unwrap() == [0]).await;
    let late = site.script.deployment(0);
    wake(41, late);
    bell.ring();
    until("what comes later is delivered", async || list.left() == 1).await;
    for deployment in others.into_iter().chain([late]) {
        site.until_asked(deployment, 1).await;
    }
    assert_eq!(site.script.asked(damaged), 0);
    stop.cancel();
    running.join_all().await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivers_at_once_keeps_all_in_an_outage_and_delivers_it_after() {
    let mut site = Site::with_worker().await;
    let (list, bell, stop) = (List::default(), RelayBell::default(), CancellationToken::new());
    let engine = engine_of(&site.temporal, &site.script);
    let relaying = relay::run(list.clone(), engine, bell.clone(), stop.clone());
    let running = tokio::task::JoinSet::from_iter([relaying]);
    let wake = |id: i64| {
        let deployment_id = site.script.deployment(0);
        list.add(Wake { id, organization_id: site.script.organization, deployment_id });
        deployment_id
    };

    let first = wake(0);
    bell.ring();
    until("the first is delivered", async || list.left() == 0).await;
    site.until_completed(first).await;

    let later: Vec<_> = {
        let during: Vec<_> = (1..=40).map(&wake).collect();
        during
    };
    site.temporal.kill().await;
    let even_later = site.script.deployment(0);
    list.add(Wake { id: 41, organization_id: site.script.organization, deployment_id: even_later });
    bell.ring();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(list.left() >= 1, "what was not delivered is kept");

    site.temporal.start().await;
    until("all are delivered", async || list.left() == 0).await;
    for deployment in later.into_iter().chain([even_later]) {
        site.until_asked(deployment, 1).await;
    }
    stop.cancel();
    running.join_all().await;
    site.end().await;
}
