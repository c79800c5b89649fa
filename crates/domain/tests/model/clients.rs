//! The model: clients that use environments. Their information may be stale, and they may crash and lose it.

mod system;

use greenroom_domain::environment::{EnvironmentState, LockCommand, settle};
use greenroom_domain::id::SessionId;
use greenroom_domain::queue::{HEARTBEAT_TIMEOUT, Waiter};
use greenroom_domain::session::SessionStatus;
use jiff::SignedDuration;
use stateright::{Model, Property};

/// A tick is as long as the first lease of a grant from the queue: a turn is missed after one tick, and a
/// heartbeat of a program times out after three.
const TICK: i64 = 60;

/// A person's place is kept this long without a heartbeat: it is lost one tick later.
const MAX_STAY_TICKS: u8 = 3;

#[derive(Clone, Copy, Debug)]
pub struct Clients {
    pub clients: u8,
    pub environments: u8,
    pub sessions_each: u8,
    pub ticks: u8,
    /// Clients request hand-overs from each other. Only the first client may also force.
    pub handover: bool,
    /// Clients lose the right to hold sessions.
    pub demotion: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct System {
    now: u8,
    environments: Vec<Environment>,
    /// What each client assumes: the environment, session and fence that it received last.
    beliefs: Vec<Option<Belief>>,
    /// How many sessions each client has created.
    session_counts: Vec<u8>,
    /// The clients that have lost the right to hold sessions.
    demoted: Vec<bool>,
    /// The violated invariant.
    broken: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Environment {
    state: EnvironmentState,
    /// All sessions with their status, in the order of their requests.
    sessions: Vec<(SessionId, SessionStatus)>,
    highest_fence: i64,
    /// The highest fence that the target of this environment has accepted.
    target_fence: i64,
    /// A request for hand-over was accepted because the holder did not answer.
    accepted_by_silence: bool,
    /// A request for hand-over lapsed.
    lapsed: bool,
    /// A waiter was skipped.
    skipped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Belief {
    environment: u8,
    session: SessionId,
    fence: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Claim {
        client: u8,
        environment: u8,
    },
    Queue {
        client: u8,
        environment: u8,
    },
    Force {
        client: u8,
        environment: u8,
    },
    /// The client requests a hand-over from the holder.
    RequestHandover {
        client: u8,
        environment: u8,
    },
    Accept(u8),
    Decline(u8),
    Release(u8),
    Renew(u8),
    Heartbeat(u8),
    /// The client has a stream of its session open.
    StreamHeartbeat(u8),
    /// The client writes to the target with the fence that it assumes to have.
    Write(u8),
    /// The client loses the right to hold sessions.
    Demote(u8),
    /// The client loses its state, and the server gets no notice.
    Crash(u8),
    Sweep(u8),
    Tick,
}

impl Model for Clients {
    type State = System;
    type Action = Action;

    fn init_states(&self) -> Vec<System> {
        let environment = Environment {
            state: EnvironmentState::default(),
            sessions: Vec::new(),
            highest_fence: 0,
            target_fence: 0,
            accepted_by_silence: false,
            lapsed: false,
            skipped: false,
        };
        vec![System {
            now: 0,
            environments: vec![environment; usize::from(self.environments)],
            beliefs: vec![None; usize::from(self.clients)],
            session_counts: vec![0; usize::from(self.clients)],
            demoted: vec![false; usize::from(self.clients)],
            broken: None,
        }]
    }

    fn actions(&self, system: &System, actions: &mut Vec<Action>) {
        for client in 0..self.clients {
            let index = usize::from(client);
            if system.beliefs[index].is_some() {
                actions.extend([Action::Write(client), Action::Crash(client)]);
            }
            if system.demoted[index] {
                continue;
            }
            if self.demotion {
                actions.push(Action::Demote(client));
            }
            if system.session_counts[index] < self.sessions_each && system.beliefs[index].is_none() {
                for environment in 0..self.environments {
                    actions.extend([
                        Action::Claim { client, environment },
                        Action::Queue { client, environment },
                        Action::Force { client, environment },
                    ]);
                    if self.handover {
                        actions.push(Action::RequestHandover { client, environment });
                    }
                }
            }
            if self.handover && system.beliefs[index].is_some_and(|belief| belief.fence.is_some()) {
                actions.extend([Action::Accept(client), Action::Decline(client)]);
            }
            if system.beliefs[index].is_some() {
                actions.extend([
                    Action::Release(client),
                    Action::Renew(client),
                    Action::Heartbeat(client),
                    Action::StreamHeartbeat(client),
                ]);
            }
        }
        actions.extend((0..self.environments).map(Action::Sweep));
        if system.now < self.ticks {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, system: &System, action: Action) -> Option<System> {
        let mut next = system.clone();
        match action {
            Action::Tick => next.now += 1,
            Action::Demote(client) => next.demote(client),
            Action::Crash(client) => next.beliefs[usize::from(client)] = None,
            Action::Sweep(environment) => {
                next.command(environment, LockCommand::Sweep).ok()?;
            }
            Action::Claim { client, environment } => next.claim(client, environment, LockCommand::Claim),
            Action::Queue { client, environment } => next.claim(client, environment, LockCommand::Queue),
            Action::Force { client, environment } => next.claim(client, environment, LockCommand::Force),
            Action::RequestHandover { client, environment } => {
                let of = next.environments[usize::from(environment)].state.lock.held.as_ref()?.session;
                let grace = SignedDuration::from_secs(TICK);
                next.claim(client, environment, |by| LockCommand::RequestHandover { of, by, grace });
            }
            Action::Accept(client) => {
                let belief = next.beliefs[usize::from(client)]?;
                next.command(belief.environment, LockCommand::AcceptHandover(belief.session)).ok()?;
            }
            Action::Decline(client) => {
                let belief = next.beliefs[usize::from(client)]?;
                next.command(belief.environment, LockCommand::DeclineHandover(belief.session)).ok()?;
            }
            Action::Release(client) => {
                let belief = next.beliefs[usize::from(client)].take()?;
                next.command(belief.environment, LockCommand::Release(belief.session)).ok()?;
            }
            Action::Renew(client) => {
                let belief = next.beliefs[usize::from(client)]?;
                if next.command(belief.environment, LockCommand::Renew(belief.session)).is_err() {
                    next.beliefs[usize::from(client)] = None;
                }
            }
            Action::Heartbeat(client) => next.heartbeat(client)?,
            Action::StreamHeartbeat(client) => {
                let belief = next.beliefs[usize::from(client)]?;
                next.stream_heartbeat(belief)?;
            }
            Action::Write(client) => next.write(client)?,
        }
        (next != *system).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no invariant was violated", |_, system: &System| system.broken.is_none()),
            Property::always("no one waits for a free lock", |_, system: &System| {
                system.environments.iter().all(|environment| {
                    let (settled, _) = settle(environment.state.clone(), system.time());
                    settled.lock.held.is_some() || settled.queue.is_empty()
                })
            }),
            Property::always("settling is idempotent", |_, system: &System| {
                system.environments.iter().all(|environment| {
                    let (once, _) = settle(environment.state.clone(), system.time());
                    let (twice, more) = settle(once.clone(), system.time());
                    once == twice && more.is_empty()
                })
            }),
            Property::always("records and machine agree", |_, system: &System| {
                system.environments.iter().all(Environment::agrees)
            }),
            Property::always(
                "the requester of a hand-over waits, and not past the deadline",
                |_, system: &System| {
                    system.environments.iter().all(|environment| {
                        let (settled, _) = settle(environment.state.clone(), system.time());
                        settled.lock.held.as_ref().and_then(|held| held.handover).is_none_or(|handover| {
                            let due = handover.due_at <= system.time();
                            settled.queue.find(handover.session).is_some() && !due
                        })
                    })
                },
            ),
            Property::sometimes("a waiter is granted", |_, system: &System| {
                system.environments.iter().any(|environment| {
                    environment.state.lock.held.as_ref().is_some_and(|held| !held.lease.confirmed)
                })
            }),
            Property::sometimes("a lease expires", |_, system: &System| system.has(SessionStatus::Expired)),
            Property::sometimes("a session is overridden", |_, system: &System| {
                system.has(SessionStatus::Overridden)
            }),
            Property::sometimes("a turn is missed", |_, system: &System| system.has(SessionStatus::Canceled)),
            Property::sometimes(
                "a person waits longer than a program could",
                |model: &Self, system: &System| {
                    model.ticks < MAX_STAY_TICKS
                        || system.environments.iter().any(|environment| {
                            let silence = |waiter: &Waiter| system.time().duration_since(waiter.heartbeat_at);
                            let mut present = environment.state.queue.present(system.time());
                            present.any(|waiter| silence(waiter) > HEARTBEAT_TIMEOUT)
                        })
                },
            ),
            Property::sometimes("a request for hand-over lapses", |model: &Self, system: &System| {
                !model.handover || system.environments.iter().any(|environment| environment.lapsed)
            }),
            Property::sometimes("a waiter is skipped", |model: &Self, system: &System| {
                !model.demotion || system.environments.iter().any(|environment| environment.skipped)
            }),
            Property::sometimes("a hand-over is accepted by silence", |model: &Self, system: &System| {
                !model.handover
                    || system.environments.iter().any(|environment| environment.accepted_by_silence)
            }),
        ]
    }
}
