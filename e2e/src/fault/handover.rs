//! Requests for hand-over, one after the other: by a user who could take the environment by force and by one
//! who could not, decided by the holder or left open. Time is simulated by moving the request's times back in
//! the database, since the shortest grace is a minute.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::fault::client::{Client, Shared};
use crate::fault::fixture::HANDOVER;
use crate::fault::history::{Environment, Kind, Op, Status};

/// No longer than the end of a round waits for what is still held.
const LEASE_SECONDS: u32 = 15;
/// The time in which the sweeper has processed what is due.
const DECISION_TIMEOUT: Duration = Duration::from_millis(2_500);
/// Client numbers that no other client has.
const FIRST_CLIENT_NUMBER: usize = 1_000;

pub(crate) struct Handovers {
    shared: Arc<Shared>,
    database_url: String,
    organization: usize,
    environment: Environment,
    rng: StdRng,
    holder: Client,
    /// The requester who could take the environment by force, and the one who could not.
    requesters: [Client; 2],
}

impl Handovers {
    pub(crate) fn new(
        organization: usize,
        shared: &Arc<Shared>,
        database_url: String,
        mut rng: StdRng,
    ) -> Option<Self> {
        let environment = shared.fixture.find(organization, HANDOVER)?;
        let [holder, with_force, without_force] = shared.fixture.handovers.get(organization)?.clone();
        let mut client = |person, number| {
            let rng = StdRng::seed_from_u64(rng.random());
            Client::for_person(
                person,
                FIRST_CLIENT_NUMBER + 10 * organization + number,
                Arc::clone(shared),
                rng,
            )
        };
        let (holder, requesters) = (client(holder, 0), [client(with_force, 1), client(without_force, 2)]);
        Some(Self {
            shared: Arc::clone(shared),
            database_url,
            organization,
            environment,
            rng,
            holder,
            requesters,
        })
    }

    /// Runs until the stop flag is set. Returns the recorded operations.
    pub(crate) async fn run(mut self) -> Vec<Op> {
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.run_once().await;
            tokio::time::sleep(Duration::from_millis(self.rng.random_range(50..500))).await;
        }
        let [with_force, without_force] = self.requesters;
        [self.holder, with_force, without_force].into_iter().flat_map(Client::into_history).collect()
    }

    async fn run_once(&mut self) {
        let (environment, requester) = (self.environment, self.rng.random_range(0..self.requesters.len()));
        let claim = self.holder.claim_request(Kind::Claim, environment, LEASE_SECONDS, false);
        let Some(held) = self.holder.send_once(claim).await.and_then(|response| response.session) else {
            return;
        };
        let request = self.requesters[requester].session_request(Kind::RequestHandover, environment, held.id);
        let waiting =
            self.requesters[requester].send_once(request).await.and_then(|response| response.session);
        if waiting.is_some() {
            match self.rng.random_range(0..6) {
                0 => self.decide(Kind::AcceptHandover, held.id).await,
                1 => self.decide(Kind::DeclineHandover, held.id).await,
                // Without a database no time can be simulated.
                _ if self.advance_time().await.is_ok() => self.wait_for_end(held.id).await,
                _ => {}
            }
        }
        self.holder.release_until_done(environment, held.id).await;
        if let Some(waiting) = waiting {
            self.requesters[requester].release_until_done(environment, waiting.id).await;
        }
    }

    async fn decide(&mut self, kind: Kind, session: Uuid) {
        let request = self.holder.session_request(kind, self.environment, session);
        self.holder.send_once(request).await;
    }

    /// Moves the request back in time as if its whole grace had passed.
    async fn advance_time(&self) -> anyhow::Result<()> {
        let mut connection = PgConnection::connect(&self.database_url).await?;
        let organization = self.shared.fixture.organizations[self.organization].id;
        // `sweep_at` is when the sweeper processes the environment next.
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

    /// Waits until the holder's session has ended, or would have.
    async fn wait_for_end(&mut self, session: Uuid) {
        let started = Instant::now();
        while started.elapsed() < DECISION_TIMEOUT {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let read = self.holder.session_request(Kind::GetSession, self.environment, session);
            let view = self.holder.send_once(read).await.and_then(|response| response.session);
            if view.is_some_and(|view| view.status != Status::Active) {
                return;
            }
        }
    }
}
