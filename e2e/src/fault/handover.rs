//! Requests for hand-over, one after the other: by somebody who could take the environment by force and by somebody who could not,
//! answered or not. Time is made to pass by moving the request's own times back in the database, since a minute is the least.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::fault::client::{Client, Shared};
use crate::fault::history::{Environment, Kind, Op, Status};
use crate::fault::world::HANDOVER;

/// No longer than a chapter's end waits for what is still held.
const LEASE_SECONDS: u32 = 15;
/// In which the sweeper has looked at what is due.
const DECIDED: Duration = Duration::from_millis(2_500);
/// Whoever these clients are, no others have their numbers.
const NUMBERS: usize = 1_000;

pub(crate) struct Handovers {
    shared: Arc<Shared>,
    database_url: String,
    organization: usize,
    environment: Environment,
    rng: StdRng,
    holder: Client,
    /// Who could take it by force, and who could not.
    askers: [Client; 2],
}

impl Handovers {
    pub(crate) fn new(
        organization: usize,
        shared: &Arc<Shared>,
        database_url: String,
        mut rng: StdRng,
    ) -> Option<Self> {
        let environment = shared.world.find(organization, HANDOVER)?;
        let [holder, bold, meek] = shared.world.handovers.get(organization)?.clone();
        let mut client = |person, number| {
            let rng = StdRng::seed_from_u64(rng.random());
            Client::acting_for(person, NUMBERS + 10 * organization + number, Arc::clone(shared), rng)
        };
        let (holder, askers) = (client(holder, 0), [client(bold, 1), client(meek, 2)]);
        Some(Self {
            shared: Arc::clone(shared),
            database_url,
            organization,
            environment,
            rng,
            holder,
            askers,
        })
    }

    /// Goes on until all are told to stop. What happened.
    pub(crate) async fn run(mut self) -> Vec<Op> {
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.once().await;
            tokio::time::sleep(Duration::from_millis(self.rng.random_range(50..500))).await;
        }
        let [bold, meek] = self.askers;
        [self.holder, bold, meek].into_iter().flat_map(Client::into_history).collect()
    }

    async fn once(&mut self) {
        let (environment, asker) = (self.environment, self.rng.random_range(0..self.askers.len()));
        let claim = self.holder.asking_for(Kind::Claim, environment, LEASE_SECONDS, false);
        let Some(held) = self.holder.act(claim).await.and_then(|answer| answer.session) else { return };
        let request = self.askers[asker].about(Kind::RequestHandover, environment, held.id);
        let waiting = self.askers[asker].act(request).await.and_then(|answer| answer.session);
        if waiting.is_some() {
            match self.rng.random_range(0..6) {
                0 => self.answer(Kind::AcceptHandover, held.id).await,
                1 => self.answer(Kind::DeclineHandover, held.id).await,
                // Without a database time does not pass here.
                _ if self.let_time_pass().await.is_ok() => self.wait(held.id).await,
                _ => {}
            }
        }
        self.holder.insist_on_release(environment, held.id).await;
        if let Some(waiting) = waiting {
            self.askers[asker].insist_on_release(environment, waiting.id).await;
        }
    }

    async fn answer(&mut self, kind: Kind, session: Uuid) {
        let request = self.holder.about(kind, self.environment, session);
        self.holder.act(request).await;
    }

    /// As if all of its grace had passed since the holder was asked.
    async fn let_time_pass(&self) -> anyhow::Result<()> {
        let mut connection = PgConnection::connect(&self.database_url).await?;
        let organization = self.shared.world.organizations[self.organization].id;
        // `sweep_at` is when the sweeper is to look.
        sqlx::query(
            "update environments set handover_due_at = clock_timestamp(), sweep_at = clock_timestamp(),
                 handover_requested_at = handover_requested_at - (handover_due_at - clock_timestamp())
             where organization_id = $1 and name = $2 and handover_session_id is not null",
        )
        .bind(organization)
        .bind(HANDOVER)
        .execute(&mut connection)
        .await?;
        Ok(())
    }

    /// Until the holder's session has ended, or would have.
    async fn wait(&mut self, session: Uuid) {
        let started = Instant::now();
        while started.elapsed() < DECIDED {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let look = self.holder.about(Kind::GetSession, self.environment, session);
            let view = self.holder.act(look).await.and_then(|answer| answer.session);
            if view.is_some_and(|view| view.status != Status::Active) {
                return;
            }
        }
    }
}
