//! A client: sends one request after the other, to varying servers, and records requests and responses.

mod choose;
pub(crate) mod http;
mod memory;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use uuid::Uuid;

use crate::fault::client::http::{Http, Request, Sent};
pub(crate) use crate::fault::client::memory::Board;
use crate::fault::client::memory::{Memory, Retry};
use crate::fault::clock::{Clock, Micros, SECOND};
use crate::fault::fixture::{LockFixture, Person};
use crate::fault::history::{Environment, Kind, Op, Outcome, Response, Status};
use crate::fault::progress::Progress;
use crate::fault::target::Target;
use crate::parts::stalls::StallDetector;

const MAX_RETRIES: u32 = 4;
const MAX_RELEASE_ATTEMPTS: u32 = 100;
const UNAUTHENTICATED: u16 = 401;

/// State that all clients share.
pub(crate) struct Shared {
    pub(crate) fixture: LockFixture,
    pub(crate) clock: Clock,
    pub(crate) http: Http,
    pub(crate) progress: Progress,
    pub(crate) board: Board,
    pub(crate) target: Target,
    pub(crate) stop: AtomicBool,
    pub(crate) stalls: StallDetector,
}

pub(crate) struct Client {
    number: usize,
    shared: Arc<Shared>,
    me: Person,
    environments: Vec<Environment>,
    rng: StdRng,
    /// How far the client's clock is ahead of the harness's. The client compares its own clock with the end of
    /// its lease, and stops writing to the target after it.
    skew: Micros,
    memory: Memory,
    /// Until when the client avoids this server.
    avoided: Vec<Micros>,
    /// When it sends its next request at the earliest: clients back off while their token is rejected.
    next_at: Micros,
    history: Vec<Op>,
}

impl Client {
    pub(crate) fn new(number: usize, shared: Arc<Shared>, rng: StdRng) -> Self {
        let me = shared.fixture.people[number % shared.fixture.people.len()].clone();
        Self::for_person(me, number, shared, rng)
    }

    /// A client that acts as a given person.
    pub(crate) fn for_person(me: Person, number: usize, shared: Arc<Shared>, mut rng: StdRng) -> Self {
        let skew = if rng.random_ratio(1, 3) { 0 } else { rng.random_range(-60 * SECOND..60 * SECOND) };
        let (environments, avoided) =
            (shared.fixture.claimable_environments(me.organization), vec![0; shared.http.servers()]);
        Self {
            number,
            shared,
            me,
            environments,
            rng,
            skew,
            memory: Memory::default(),
            avoided,
            next_at: 0,
            history: Vec::new(),
        }
    }

    /// Runs until the stop flag is set. Returns the recorded operations.
    pub(crate) async fn run(mut self) -> Vec<Op> {
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.write_to_target();
            if self.rng.random_ratio(1, 600) {
                // The client dies and abandons what it held and waited for.
                self.memory = Memory::default();
            }
            let now = self.shared.clock.now();
            if let Some(index) = self.memory.retries.iter().position(|retry| retry.due <= now) {
                let retry = self.memory.retries.swap_remove(index);
                let server = (retry.server + 1) % self.shared.http.servers();
                self.send(retry.request, server, retry.tries).await;
                continue;
            }
            let (server, (request, at)) = match self.memory.next.take() {
                Some((request, server)) => (server, (request, now)),
                None => (self.choose_server().await, self.choose()),
            };
            self.wait_until(at).await;
            self.send(request, server, 0).await;
        }
        self.leave_queues().await;
        self.history
    }

    /// Most clients leave the queue at the end. The others are granted a turn that they do not confirm.
    async fn leave_queues(&mut self) {
        for (environment, session) in std::mem::take(&mut self.memory.waiting) {
            if self.rng.random_ratio(9, 10) {
                let (request, server) =
                    (self.session_request(Kind::Release, environment, session), self.choose_server().await);
                self.send(request, server, 0).await;
            }
        }
    }

    /// Sends a request once, to some server. Returns the response if it is known and not a rejection.
    pub(crate) async fn send_once(&mut self, request: Request) -> Option<Response> {
        let (server, before) = (self.choose_server().await, self.history.len());
        self.send(request, server, 0).await;
        let op = self.history.get(before)?;
        op.ok().cloned()
    }

    /// Releases a session and retries until the outcome is known.
    pub(crate) async fn release_until_done(&mut self, environment: Environment, session: Uuid) {
        for _ in 0..MAX_RELEASE_ATTEMPTS {
            let request = self.session_request(Kind::Release, environment, session);
            if self.send_once(request).await.is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    pub(crate) fn into_history(self) -> Vec<Op> {
        self.history
    }

    async fn send(&mut self, request: Request, server: usize, tries: u32) {
        let shared = Arc::clone(&self.shared);
        let key = request.is_keyed().then(|| format!("fault-{}", request.number));
        if let Ok(early @ 1..) = u64::try_from(self.next_at - shared.clock.now()) {
            tokio::time::sleep(Duration::from_micros(early)).await;
        }
        let invoked = shared.clock.now();
        let sent =
            shared.http.send(&shared.fixture, (server, &self.me.token()), &request, key.as_deref()).await;
        let Sent::Done(outcome) = sent else {
            self.avoided[server] = invoked + SECOND / 2;
            if tries > 0 && request.is_keyed() {
                self.schedule_retry(request, server, tries);
            }
            return;
        };
        let returned = shared.clock.now();
        shared.progress.count(server, &outcome);
        if matches!(&outcome, Outcome::Refused(refused) if refused.status == UNAUTHENTICATED) {
            self.next_at = self.shared.clock.now() + self.rng.random_range(SECOND / 10..SECOND / 2);
        }
        self.process_outcome(&request, server, &outcome, tries);
        self.history.push(Op {
            number: if tries == 0 { request.number } else { shared.progress.number() },
            request: request.number,
            client: self.number,
            server,
            user: self.me.user,
            kind: request.kind,
            environment: request.environment,
            session: request.session,
            deployment: request.deployment,
            invoked,
            returned,
            outcome,
        });
    }

    fn process_outcome(&mut self, request: &Request, server: usize, outcome: &Outcome, tries: u32) {
        let (Some(environment), kind) = (request.environment, request.kind) else { return };
        match outcome {
            Outcome::Ok(response) => {
                if let Some(view) = &response.session {
                    if kind.is_claim() {
                        self.shared.board.record_session(environment, view.id, self.me.user);
                    }
                    if kind == Kind::Queue && view.status == Status::Queued && self.rng.random_ratio(1, 8) {
                        // A waiter that only reads keeps its place for a while, but never confirms its turn.
                        self.memory.only_read.insert(view.id);
                    }
                    // A silent waiter stays in the queue without sending anything.
                    if kind != Kind::Queue || !self.rng.random_ratio(1, 25) {
                        self.memory.update(environment, view);
                    }
                }
                if let Some(deployment) = response.deployment.filter(|_| kind == Kind::Deploy) {
                    self.shared.board.record_deployment(environment, deployment);
                }
                // Reads the state from another server right after a change.
                if kind.is_change() && self.rng.random_ratio(1, 3) {
                    let read = match (request.session, self.rng.random_ratio(1, 2)) {
                        (Some(session), true) => self.session_request(Kind::GetSession, environment, session),
                        _ => self.read_request(Kind::GetEnvironment, Some(environment)),
                    };
                    self.memory.next = Some((read, (server + 1) % self.shared.http.servers()));
                }
            }
            Outcome::Refused(refused) if refused.code == "idempotency_in_progress" => {
                self.schedule_retry(request.clone(), server, tries);
            }
            Outcome::Refused(refused) => {
                if let Some(session) = request.session.filter(|_| refused.code.starts_with("session_")) {
                    self.memory.move_to_past(environment, session);
                }
            }
            Outcome::Unknown(_) => {
                if self.rng.random_ratio(1, 2) {
                    self.avoided[server] = self.shared.clock.now() + self.rng.random_range(0..2 * SECOND);
                }
                if request.is_keyed() {
                    self.schedule_retry(request.clone(), server, tries);
                }
            }
        }
    }

    fn schedule_retry(&mut self, request: Request, server: usize, tries: u32) {
        if tries < MAX_RETRIES {
            let due = self.shared.clock.now() + self.rng.random_range(0..3 * SECOND);
            self.memory.retries.push(Retry { request, due, server, tries: tries + 1 });
        }
    }

    /// Returns a server that the client has no reason to avoid.
    async fn choose_server(&mut self) -> usize {
        let now = self.shared.clock.now();
        let servers: Vec<usize> =
            (0..self.avoided.len()).filter(|server| self.avoided[*server] <= now).collect();
        if servers.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            return self.rng.random_range(0..self.avoided.len());
        }
        servers[self.rng.random_range(0..servers.len())]
    }

    /// Writes to the environment's target while the client holds it by its own clock.
    fn write_to_target(&mut self) {
        let now = self.shared.clock.now();
        for held in &self.memory.held {
            if now + self.skew < held.expires_at {
                self.shared.target.write(held.environment, (held.session, held.fence), now);
            }
        }
    }

    async fn wait_until(&self, at: Micros) {
        let wait = at - self.shared.clock.now();
        if let Ok(wait @ 1..) = u64::try_from(wait) {
            tokio::time::sleep(Duration::from_micros(wait)).await;
        }
    }
}
