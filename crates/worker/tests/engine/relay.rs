//! The relay, with an engine that comes and goes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use greenroom_store::StoreError;
use greenroom_store::engine::Wake;
use greenroom_worker::engine::Engine;
use greenroom_worker::relay::{self, Outbox, RelayBell};
use tokio_util::sync::CancellationToken;

use crate::site::{Site, until};

/// Every wake with whether it was taken.
#[derive(Clone, Default)]
struct List(Arc<Mutex<Vec<(Wake, bool)>>>);

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
}

#[tokio::test(flavor = "multi_thread")]
async fn delivers_at_once_keeps_all_in_an_outage_and_delivers_it_after() {
    let mut site = Site::with_worker().await;
    let (list, bell, stop) = (List::default(), RelayBell::default(), CancellationToken::new());
    let engine = Engine::new(site.temporal.config());
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
