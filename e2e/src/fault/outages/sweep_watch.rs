//! Reads again and again how long ago the last sweep was, while everything can be reached. On a slow machine it can be long
//! enough for the product to count as absent although no outage was made.

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fault::outages::moved_time::read_unswept;

const INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct SweepWatch {
    /// The longest time without a sweep.
    longest: watch::Sender<f64>,
    _reading: JoinSet<()>,
}

impl SweepWatch {
    pub(super) fn start(url: String) -> Self {
        let (longest, mut reading) = (watch::Sender::new(0.0), JoinSet::new());
        let noted = longest.clone();
        reading.spawn(async move {
            loop {
                // PostgreSQL is restarted in some of the outages.
                let _ = read(&url, &noted).await;
                tokio::time::sleep(INTERVAL).await;
            }
        });
        Self { longest, _reading: reading }
    }

    /// Forgets what was before. To be called when the last sweep is not long ago.
    pub(super) fn reset(&self) {
        self.longest.send_replace(0.0);
    }

    pub(super) fn longest(&self) -> f64 {
        *self.longest.borrow()
    }
}

async fn read(url: &str, longest: &watch::Sender<f64>) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    loop {
        let unswept = read_unswept(&mut connection).await?;
        longest.send_modify(|longest| *longest = longest.max(unswept));
        tokio::time::sleep(INTERVAL).await;
    }
}
