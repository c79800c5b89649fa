//! Clients that use environments, as a model: what they know may be old, and they may forget everything.

use greenroom_domain::environment::{Command, Effect, EnvironmentState, Refusal, apply, settle};
use greenroom_domain::id::{SessionId, UserId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::session::{SessionEnd, SessionStatus};
use jiff::{SignedDuration, Timestamp};
use stateright::{Model, Property};
use uuid::Uuid;

/// A tick is the first lease of a grant from the queue, so that missing a turn takes one and falling silent three.
const TICK: i64 = 60;

#[derive(Clone, Copy, Debug)]
pub struct Clients {
    pub clients: u8,
    pub environments: u8,
    pub sessions_each: u8,
    pub ticks: u8,
    /// Clients ask each other to let go.
    pub handover: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    now: u8,
    environments: Vec<Environment>,
    /// What each client believes: the environment, session and fence that it last got.
    beliefs: Vec<Option<Belief>>,
    made: Vec<u8>,
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
        };
        vec![World {
            now: 0,
            environments: vec![environment; usize::from(self.environments)],
            beliefs: vec![None; usize::from(self.clients)],
            made: vec![0; usize::from(self.clients)],
            broken: None,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for client in 0..self.clients {
            let index = usize::from(client);
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
                    Action::Write(client),
                    Action::Crash(client),
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
            Property::sometimes("silence hands it over", |model: &Self, world: &World| {
                !model.handover || world.environments.iter().any(|environment| environment.fell_silent)
            }),
        ]
    }
}

impl World {
    fn time(&self) -> Timestamp {
        Timestamp::from_second(i64::from(self.now) * TICK).unwrap()
    }

    fn has(&self, status: SessionStatus) -> bool {
        self.environments.iter().any(|environment| environment.sessions.iter().any(|(_, own)| *own == status))
    }

    fn ask(&mut self, client: u8, environment: u8, command: impl Fn(Claim) -> Command) {
        let index = usize::from(client);
        let number = u128::from(client) * 16 + u128::from(self.made[index]) + 1;
        let session = SessionId::from(Uuid::from_u128(number));
        let terms = LeaseTerms {
            length: SignedDuration::from_secs(2 * TICK),
            longest: SignedDuration::from_secs(4 * TICK),
        };
        let claim = Claim { session, user: user(client), terms };
        let command = command(claim);
        let waiting = self.environments[usize::from(environment)].waiting(self.time());
        match self.command(environment, command) {
            Ok(effects) => {
                self.made[index] += 1;
                let fence = effects.iter().find_map(|effect| match effect {
                    Effect::Granted { session: granted, fence } if *granted == session => Some(*fence),
                    _ => None,
                });
                // Who waits already asks with what they wait with.
                let session = effects.iter().find_map(|effect| match effect {
                    Effect::HandoverRequested { by, .. } => Some(*by),
                    _ => None,
                });
                let session = session.unwrap_or(claim.session);
                if matches!(command, Command::Claim(_)) && waiting > 0 && fence.is_some() {
                    self.broken = Some("a plain claim overtook a waiter");
                }
                self.beliefs[index] = Some(Belief { environment, session, fence });
            }
            Err(Refusal::HeldByYou { session })
                if !self.environments[usize::from(environment)].holds(session) =>
            {
                self.broken = Some("refused for a session that does not hold");
            }
            Err(_) => {}
        }
    }

    /// A client looks after its session: a waiter learns that it was granted.
    fn hear(&mut self, client: u8) -> Option<()> {
        let belief = self.beliefs[usize::from(client)]?;
        self.command(belief.environment, Command::Hear(belief.session)).ok()?;
        let lock = &self.environments[usize::from(belief.environment)].state.lock;
        let fence = lock.is_held_by(belief.session, self.time()).then_some(lock.fence);
        self.beliefs[usize::from(client)] = Some(Belief { fence: fence.or(belief.fence), ..belief });
        Some(())
    }

    /// An open stream keeps a place and never confirms a grant.
    fn attend(&mut self, belief: Belief) -> Option<()> {
        let confirmed = |world: &Self| {
            let lock = &world.environments[usize::from(belief.environment)].state.lock;
            lock.held.as_ref().is_some_and(|held| held.session == belief.session && held.lease.confirmed)
        };
        let before = confirmed(self);
        self.command(belief.environment, Command::Attend(belief.session)).ok()?;
        if !before && confirmed(self) {
            self.broken = Some("a stream confirmed a grant");
        }
        Some(())
    }

    /// The target accepts what is not older than what it has accepted.
    fn write(&mut self, client: u8) -> Option<()> {
        let belief = self.beliefs[usize::from(client)]?;
        let fence = belief.fence?;
        let environment = &mut self.environments[usize::from(belief.environment)];
        if fence < environment.target_fence {
            return None;
        }
        if fence == environment.target_fence {
            return None;
        }
        environment.target_fence = fence;
        if fence > environment.highest_fence {
            self.broken = Some("a fence that was never given");
        }
        Some(())
    }

    fn command(&mut self, environment: u8, command: Command) -> Result<Vec<Effect>, Refusal> {
        let now = self.time();
        let environment = &mut self.environments[usize::from(environment)];
        let order: Vec<SessionId> = environment.state.queue.iter().map(|waiting| waiting.session).collect();
        let (state, settled, applied) = apply(environment.state.clone(), now, command);
        environment.state = state;
        environment.fell_silent |=
            settled.iter().any(|effect| matches!(effect, Effect::Ended { end: SessionEnd::Released, .. }));
        let effects: Vec<Effect> = settled.iter().chain(applied.iter().flatten()).copied().collect();
        if let Some(broken) = environment.record(&effects, &order) {
            self.broken = Some(broken);
        }
        applied
    }
}

impl Environment {
    fn waiting(&self, now: Timestamp) -> usize {
        settle(self.state.clone(), now).0.queue.len()
    }

    fn holds(&self, session: SessionId) -> bool {
        self.state.lock.held.as_ref().is_some_and(|held| held.session == session)
    }

    /// Writes the effects down as the database would, and says what they break.
    fn record(&mut self, effects: &[Effect], order: &[SessionId]) -> Option<&'static str> {
        let mut broken = None;
        let mut left = order.to_vec();
        for effect in effects {
            match *effect {
                Effect::Queued { session } => self.sessions.push((session, SessionStatus::Queued)),
                Effect::Granted { session, fence } => {
                    if fence <= self.highest_fence {
                        broken = Some("a fence was given twice, or fell");
                    }
                    self.highest_fence = fence;
                    let known = self.sessions.iter_mut().find(|(own, _)| *own == session);
                    match known {
                        None => self.sessions.push((session, SessionStatus::Active)),
                        Some((_, status)) => match status.granted() {
                            Ok(active) => *status = active,
                            Err(_) => broken = Some("a session was granted that had ended or was active"),
                        },
                    }
                    if left.contains(&session) && left.first() != Some(&session) {
                        broken = Some("a waiter was overtaken by a later one");
                    }
                    left.retain(|own| *own != session);
                }
                Effect::HandoverRequested { session, by, .. } | Effect::HandoverDeclined { session, by } => {
                    let is =
                        |wanted: SessionId, status: SessionStatus| self.sessions.contains(&(wanted, status));
                    if !is(session, SessionStatus::Active) || !is(by, SessionStatus::Queued) {
                        broken = Some("a hand-over of what is not held, or by who does not wait");
                    }
                }
                Effect::Ended { session, end } => {
                    left.retain(|own| *own != session);
                    match self.sessions.iter_mut().find(|(own, _)| *own == session) {
                        None => broken = Some("a session ended that never was"),
                        Some((_, status)) => match status.ended(end) {
                            Ok(ended) => *status = ended,
                            Err(_) => broken = Some("a session ended twice"),
                        },
                    }
                }
            }
        }
        broken
    }

    /// One active session, which is the lock's; the queued ones are the queue, in order.
    fn agrees(&self) -> bool {
        let of = |wanted: SessionStatus| -> Vec<SessionId> {
            self.sessions
                .iter()
                .filter(|(_, status)| *status == wanted)
                .map(|(session, _)| *session)
                .collect()
        };
        let held: Vec<SessionId> = self.state.lock.held.iter().map(|held| held.session).collect();
        let waiting: Vec<SessionId> = self.state.queue.iter().map(|waiting| waiting.session).collect();
        of(SessionStatus::Active) == held && of(SessionStatus::Queued) == waiting
    }
}

fn user(client: u8) -> UserId {
    UserId::from(Uuid::from_u128(u128::from(client) + 1))
}
