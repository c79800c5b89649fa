//! Clients that use environments, as a model: what they know may be old, and they may forget everything.

mod world;

use greenroom_domain::environment::{Command, EnvironmentState, settle};
use greenroom_domain::id::SessionId;
use greenroom_domain::session::SessionStatus;
use jiff::SignedDuration;
use stateright::{Model, Property};

/// A tick is the first lease of a grant from the queue, so that missing a turn takes one and falling silent three.
const TICK: i64 = 60;

#[derive(Clone, Copy, Debug)]
pub struct Clients {
    pub clients: u8,
    pub environments: u8,
    pub sessions_each: u8,
    pub ticks: u8,
    /// Clients ask each other to let go. The first client could also force, the others could not.
    pub handover: bool,
    /// Clients lose the right to hold sessions.
    pub demotion: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    now: u8,
    environments: Vec<Environment>,
    /// What each client believes: the environment, session and fence that it last got.
    beliefs: Vec<Option<Belief>>,
    made: Vec<u8>,
    /// Who has lost the right to hold sessions.
    demoted: Vec<bool>,
    broken: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Environment {
    state: EnvironmentState,
    /// Every session there has been, in the order of asking, with its status.
    sessions: Vec<(SessionId, SessionStatus)>,
    highest_fence: i64,
    /// The highest fence that the target behind this environment has accepted a write of.
    target_fence: i64,
    /// A holder was asked to let go, and did not answer.
    fell_silent: bool,
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
    /// The client asks whoever holds it to let go.
    Ask {
        client: u8,
        environment: u8,
    },
    Accept(u8),
    Decline(u8),
    Release(u8),
    Renew(u8),
    Hear(u8),
    /// The client has a stream of its session open.
    Attend(u8),
    /// The client acts on the environment with the fence that it believes to have.
    Write(u8),
    /// The client loses the right to hold sessions.
    Demote(u8),
    /// The client forgets what it had; nobody tells the server.
    Crash(u8),
    Sweep(u8),
    Tick,
}

impl Model for Clients {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let environment = Environment {
            state: EnvironmentState::default(),
            sessions: Vec::new(),
            highest_fence: 0,
            target_fence: 0,
            fell_silent: false,
            lapsed: false,
            skipped: false,
        };
        vec![World {
            now: 0,
            environments: vec![environment; usize::from(self.environments)],
            beliefs: vec![None; usize::from(self.clients)],
            made: vec![0; usize::from(self.clients)],
            demoted: vec![false; usize::from(self.clients)],
            broken: None,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for client in 0..self.clients {
            let index = usize::from(client);
            if world.beliefs[index].is_some() {
                actions.extend([Action::Write(client), Action::Crash(client)]);
            }
            if world.demoted[index] {
                continue;
            }
            if self.demotion {
                actions.push(Action::Demote(client));
            }
            if world.made[index] < self.sessions_each && world.beliefs[index].is_none() {
                for environment in 0..self.environments {
                    actions.extend([
                        Action::Claim { client, environment },
                        Action::Queue { client, environment },
                        Action::Force { client, environment },
                    ]);
                    if self.handover {
                        actions.push(Action::Ask { client, environment });
                    }
                }
            }
            if self.handover && world.beliefs[index].is_some_and(|belief| belief.fence.is_some()) {
                actions.extend([Action::Accept(client), Action::Decline(client)]);
            }
            if world.beliefs[index].is_some() {
                actions.extend([
                    Action::Release(client),
                    Action::Renew(client),
                    Action::Hear(client),
                    Action::Attend(client),
                ]);
            }
        }
        actions.extend((0..self.environments).map(Action::Sweep));
        if world.now < self.ticks {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Tick => next.now += 1,
            Action::Demote(client) => next.demote(client),
            Action::Crash(client) => next.beliefs[usize::from(client)] = None,
            Action::Sweep(environment) => {
                next.command(environment, Command::Sweep).ok()?;
            }
            Action::Claim { client, environment } => next.ask(client, environment, Command::Claim),
            Action::Queue { client, environment } => next.ask(client, environment, Command::Queue),
            Action::Force { client, environment } => next.ask(client, environment, Command::Force),
            Action::Ask { client, environment } => {
                let of = next.environments[usize::from(environment)].state.lock.held.as_ref()?.session;
                let grace = SignedDuration::from_secs(TICK);
                next.ask(client, environment, |by| Command::RequestHandover { of, by, grace });
            }
            Action::Accept(client) => {
                let belief = next.beliefs[usize::from(client)]?;
                next.command(belief.environment, Command::AcceptHandover(belief.session)).ok()?;
            }
            Action::Decline(client) => {
                let belief = next.beliefs[usize::from(client)]?;
                next.command(belief.environment, Command::DeclineHandover(belief.session)).ok()?;
            }
            Action::Release(client) => {
                let belief = next.beliefs[usize::from(client)].take()?;
                next.command(belief.environment, Command::Release(belief.session)).ok()?;
            }
            Action::Renew(client) => {
                let belief = next.beliefs[usize::from(client)]?;
                if next.command(belief.environment, Command::Renew(belief.session)).is_err() {
                    next.beliefs[usize::from(client)] = None;
                }
            }
            Action::Hear(client) => next.hear(client)?,
            Action::Attend(client) => {
                let belief = next.beliefs[usize::from(client)]?;
                next.attend(belief)?;
            }
            Action::Write(client) => next.write(client)?,
        }
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing was broken on the way", |_, world: &World| world.broken.is_none()),
            Property::always("a free lock has nobody waiting for it", |_, world: &World| {
                world.environments.iter().all(|environment| {
                    let (settled, _) = settle(environment.state.clone(), world.time());
                    settled.lock.held.is_some() || settled.queue.is_empty()
                })
            }),
            Property::always("settling twice is settling once", |_, world: &World| {
                world.environments.iter().all(|environment| {
                    let (once, _) = settle(environment.state.clone(), world.time());
                    let (twice, more) = settle(once.clone(), world.time());
                    once == twice && more.is_empty()
                })
            }),
            Property::always("records and machine agree", |_, world: &World| {
                world.environments.iter().all(Environment::agrees)
            }),
            Property::always(
                "who asks for a hand-over waits, and is not kept waiting past its time",
                |_, world: &World| {
                    world.environments.iter().all(|environment| {
                        let (settled, _) = settle(environment.state.clone(), world.time());
                        settled.lock.held.as_ref().and_then(|held| held.handover).is_none_or(|asked| {
                            let due = asked.due_at <= world.time();
                            settled.queue.find(asked.session).is_some() && !due
                        })
                    })
                },
            ),
            Property::sometimes("a waiter is granted", |_, world: &World| {
                world.environments.iter().any(|environment| {
                    environment.state.lock.held.as_ref().is_some_and(|held| !held.lease.confirmed)
                })
            }),
            Property::sometimes("a lease expires", |_, world: &World| world.has(SessionStatus::Expired)),
            Property::sometimes("a session is overridden", |_, world: &World| {
                world.has(SessionStatus::Overridden)
            }),
            Property::sometimes("a turn is missed", |_, world: &World| world.has(SessionStatus::Canceled)),
            Property::sometimes("a request for hand-over lapses", |model: &Self, world: &World| {
                !model.handover || world.environments.iter().any(|environment| environment.lapsed)
            }),
            Property::sometimes("a waiter is skipped", |model: &Self, world: &World| {
                !model.demotion || world.environments.iter().any(|environment| environment.skipped)
            }),
            Property::sometimes("silence hands it over", |model: &Self, world: &World| {
                !model.handover || world.environments.iter().any(|environment| environment.fell_silent)
            }),
        ]
    }
}
