//! A client: asks one thing after the other, of one server or another, and writes down what it was told.

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
use crate::fault::history::{Answer, Environment, Kind, Op, Outcome, Status};
use crate::fault::progress::Progress;
use crate::fault::target::Target;
use crate::fault::world::{Person, World};

const MOST_TRIES: u32 = 4;
const MOST_RELEASES: u32 = 100;
const UNAUTHENTICATED: u16 = 401;

/// What all clients share.
pub(crate) struct Shared {
    pub(crate) world: World,
    pub(crate) clock: Clock,
    pub(crate) http: Http,
    pub(crate) progress: Progress,
    pub(crate) board: Board,
    pub(crate) target: Target,
    pub(crate) stop: AtomicBool,
}

pub(crate) struct Client {
    number: usize,
    shared: Arc<Shared>,
    me: Person,
    places: Vec<Environment>,
    rng: StdRng,
    /// How wrong its own clock is, by which it decides whether it still holds.
    skew: Micros,
    memory: Memory,
    /// Until when it does not ask this server.
    avoided: Vec<Micros>,
    /// When it sends its next request at the earliest: clients back off while their token is rejected.
    next_at: Micros,
    history: Vec<Op>,
}

impl Client {
    pub(crate) fn new(number: usize, shared: Arc<Shared>, rng: StdRng) -> Self {
        let me = shared.world.people[number % shared.world.people.len()].clone();
        Self::acting_for(me, number, shared, rng)
    }

    /// A client who is somebody in particular.
    pub(crate) fn acting_for(me: Person, number: usize, shared: Arc<Shared>, mut rng: StdRng) -> Self {
        let skew = if rng.random_ratio(1, 3) { 0 } else { rng.random_range(-60 * SECOND..60 * SECOND) };
        let (places, avoided) = (shared.world.places(me.organization), vec![0; shared.http.servers()]);
        Self {
            number,
            shared,
            me,
            places,
            rng,
            skew,
            memory: Memory::default(),
            avoided,
            next_at: 0,
            history: Vec::new(),
        }
    }

    /// Goes on until all are told to stop. What happened.
    pub(crate) async fn run(mut self) -> Vec<Op> {
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.write_to_target();
            if self.rng.random_ratio(1, 600) {
                // It dies: what it held and waited for is nobody's now.
                self.memory = Memory::default();
            }
            let now = self.shared.clock.now();
            if let Some(index) = self.memory.retries.iter().position(|retry| retry.due <= now) {
                let retry = self.memory.retries.swap_remove(index);
                let server = (retry.server + 1) % self.shared.http.servers();
                self.ask(retry.request, server, retry.tries).await;
                continue;
            }
            let (server, (request, at)) = match self.memory.next.take() {
                Some((request, server)) => (server, (request, now)),
                None => (self.server().await, self.choose()),
            };
            self.wait_until(at).await;
            self.ask(request, server, 0).await;
        }
        self.go_home().await;
        self.history
    }

    /// Most leave the queue when they go; the rest is granted a turn that it does not take up.
    async fn go_home(&mut self) {
        for (environment, session) in std::mem::take(&mut self.memory.waiting) {
            if self.rng.random_ratio(9, 10) {
                let (request, server) =
                    (self.about(Kind::Release, environment, session), self.server().await);
                self.ask(request, server, 0).await;
            }
        }
    }

    /// Asks once, of some server. What was answered, if it is known and no refusal.
    pub(crate) async fn act(&mut self, request: Request) -> Option<Answer> {
        let (server, before) = (self.server().await, self.history.len());
        self.ask(request, server, 0).await;
        let op = self.history.get(before)?;
        op.ok().cloned()
    }

    /// Lets go of a session, however often that has to be said.
    pub(crate) async fn insist_on_release(&mut self, environment: Environment, session: Uuid) {
        for _ in 0..MOST_RELEASES {
            let request = self.about(Kind::Release, environment, session);
            if self.act(request).await.is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    pub(crate) fn into_history(self) -> Vec<Op> {
        self.history
    }

    async fn ask(&mut self, request: Request, server: usize, tries: u32) {
        let shared = Arc::clone(&self.shared);
        let key = request.keyed().then(|| format!("fault-{}", request.number));
        if let Ok(early @ 1..) = u64::try_from(self.next_at - shared.clock.now()) {
            tokio::time::sleep(Duration::from_micros(early)).await;
        }
        let invoked = shared.clock.now();
        let sent =
            shared.http.send(&shared.world, (server, &self.me.token()), &request, key.as_deref()).await;
        let Sent::Done(outcome) = sent else {
            self.avoided[server] = invoked + SECOND / 2;
            if tries > 0 && request.keyed() {
                self.try_again(request, server, tries);
            }
            return;
        };
        let returned = shared.clock.now();
        shared.progress.count(server, &outcome);
        if matches!(&outcome, Outcome::Refused(refused) if refused.status == UNAUTHENTICATED) {
            self.next_at = self.shared.clock.now() + self.rng.random_range(SECOND / 10..SECOND / 2);
        }
        self.learn(&request, server, &outcome, tries);
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

    fn learn(&mut self, request: &Request, server: usize, outcome: &Outcome, tries: u32) {
        let (Some(environment), kind) = (request.environment, request.kind) else { return };
        match outcome {
            Outcome::Ok(answer) => {
                if let Some(view) = &answer.session {
                    if kind.claims() {
                        self.shared.board.note(environment, view.id, self.me.user);
                    }
                    if kind == Kind::Queue && view.status == Status::Queued && self.rng.random_ratio(1, 8) {
                        // Whoever only looks keeps its place for a while, but never confirms its turn.
                        self.memory.only_read.insert(view.id);
                    }
                    // Somebody who goes silent waits in the queue without ever asking.
                    if kind != Kind::Queue || !self.rng.random_ratio(1, 25) {
                        self.memory.saw(environment, view);
                    }
                }
                if let Some(deployment) = answer.deployment.filter(|_| kind == Kind::Deploy) {
                    self.shared.board.note_deployment(environment, deployment);
                }
                // A look from another side, right after a change.
                if kind.changes() && self.rng.random_ratio(1, 3) {
                    let look = match (request.session, self.rng.random_ratio(1, 2)) {
                        (Some(session), true) => self.about(Kind::GetSession, environment, session),
                        _ => self.plain(Kind::GetEnvironment, Some(environment)),
                    };
                    self.memory.next = Some((look, (server + 1) % self.shared.http.servers()));
                }
            }
            Outcome::Refused(refused) if refused.code == "idempotency_in_progress" => {
                self.try_again(request.clone(), server, tries);
            }
            Outcome::Refused(refused) => {
                if let Some(session) = request.session.filter(|_| refused.code.starts_with("session_")) {
                    self.memory.lost(environment, session);
                }
            }
            Outcome::Unknown(_) => {
                if self.rng.random_ratio(1, 2) {
                    self.avoided[server] = self.shared.clock.now() + self.rng.random_range(0..2 * SECOND);
                }
                if request.keyed() {
                    self.try_again(request.clone(), server, tries);
                }
            }
        }
    }

    fn try_again(&mut self, request: Request, server: usize, tries: u32) {
        if tries < MOST_TRIES {
            let due = self.shared.clock.now() + self.rng.random_range(0..3 * SECOND);
            self.memory.retries.push(Retry { request, due, server, tries: tries + 1 });
        }
    }

    /// One that it has no reason to avoid.
    async fn server(&mut self) -> usize {
        let now = self.shared.clock.now();
        let servers: Vec<usize> =
            (0..self.avoided.len()).filter(|server| self.avoided[*server] <= now).collect();
        if servers.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            return self.rng.random_range(0..self.avoided.len());
        }
        servers[self.rng.random_range(0..servers.len())]
    }

    /// While it believes to hold, by its own clock, it acts on the environment.
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
