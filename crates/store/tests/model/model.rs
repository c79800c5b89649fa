//! The model: both environments as the domain's machine has them, with its own clock. A session's id is the number of the
//! ask that it came of, a user's id the place among the people.

use std::fmt;

use greenroom_domain::environment::{Applied, Command};
use greenroom_domain::id::{SessionId, UserId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::token::TokenKind;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;
use uuid::Uuid;

use crate::record::Environment;
use crate::step::{
    self, Act, By, DEFAULT_LEASE, ENVIRONMENTS, LONGEST_LEASE, PEOPLE, Step, TIME_UNIT, Way, Which,
};
use crate::told::Told;

/// The kinds of the people's tokens.
const KINDS: [TokenKind; PEOPLE] = [TokenKind::User, TokenKind::Ci, TokenKind::Agent];
/// The number that no session gets.
const UNKNOWN: u128 = 0xffff;

#[derive(Clone, Default)]
pub struct Model {
    pub now: Timestamp,
    pub environments: [Environment; ENVIRONMENTS],
    asks: u128,
    /// Who may not hold sessions.
    demoted: [bool; PEOPLE],
    /// The last step, unless time passed.
    pub last: Option<Expected>,
}

/// What was asked, and what must come of it.
#[derive(Clone, Debug)]
pub struct Expected {
    pub environment: usize,
    pub ask: Ask,
    /// The one statement can do it.
    pub at_once: bool,
    /// The clock has decided something, so the sweeper has to find it.
    pub due: bool,
    pub applied: Applied,
    pub told: Vec<Told>,
}

#[derive(Clone, Debug)]
pub struct Ask {
    pub command: Command,
    pub by: usize,
    pub way: Way,
    /// As it was asked for; left out, the environment's default.
    pub lease: Option<i64>,
    /// What a new session brings with it.
    pub user: usize,
    pub context: Option<String>,
    pub commit: Option<String>,
}

pub fn user_id(user: usize) -> UserId {
    Uuid::from_u128(user as u128).into()
}

pub fn user_of(id: UserId) -> usize {
    id.uuid().as_u128() as usize
}

/// Only tokens of kind `user` may force, unless they were made to.
pub fn could_force(user: usize) -> bool {
    KINDS[user] == TokenKind::User
}

fn session_id(number: u128) -> SessionId {
    Uuid::from_u128(number).into()
}

/// A case that fails is printed with the state that it begins in, which is always the same.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("now", &self.now).finish_non_exhaustive()
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Step> {
        step::any_step()
    }

    fn apply(mut model: Self, step: &Step) -> Self {
        match *step {
            Step::TimePasses { units } => {
                model.now += SignedDuration::from_secs(units * TIME_UNIT);
                model.last = None;
            }
            Step::Role { user, demoted } => {
                model.demoted[user] = demoted;
                for environment in &mut model.environments {
                    environment.judge(model.demoted);
                }
                model.last = None;
            }
            Step::At { environment, act } => {
                let mut ask = model.ask(environment, act);
                // The server lets nobody in who may not hold sessions, nor are they given one.
                if model.demoted[ask.by] || model.demoted[ask.user] {
                    ask = model.ask(environment, Act::Sweep);
                }
                let (now, place) = (model.now, &mut model.environments[environment]);
                let (at_once, due) = (place.is_done_at_once(&ask, now), place.is_due(now));
                let (applied, told) = place.carry_out(&ask, now);
                model.last = Some(Expected { environment, ask, at_once, due, applied, told });
            }
        }
        model
    }
}

impl Model {
    fn ask(&mut self, environment: usize, act: Act) -> Ask {
        self.asks += 1;
        let context = (!self.asks.is_multiple_of(3)).then(|| format!("ask {}", self.asks));
        let mut ask = Ask {
            command: Command::Sweep,
            by: 0,
            way: Way::Long,
            lease: None,
            user: 0,
            context,
            commit: None,
        };
        match act {
            Act::Claim { user, lease, way } => {
                ask = Ask {
                    command: Command::Claim(self.claim(user, lease)),
                    by: user,
                    way,
                    lease,
                    user,
                    ..ask
                };
            }
            Act::Queue { user, lease, deploys } => {
                let commit = deploys.then(|| format!("{:040x}", self.asks));
                let command = Command::Queue(self.claim(user, lease));
                ask = Ask { command, by: user, user, commit, ..ask };
            }
            Act::Force { user, lease } => {
                ask = Ask { command: Command::Force(self.claim(user, lease)), by: user, user, ..ask };
            }
            Act::Transfer { from, to, lease } => {
                let from = self.find(environment, from);
                let command = Command::Transfer { from, to: self.claim(to, lease) };
                ask = Ask { command, by: self.own(from), user: to, ..ask };
            }
            Act::Release { which, by, way } => {
                let session = self.find(environment, which);
                let by = match by {
                    By::Own => self.own(session),
                    By::Anybody(user) => user,
                };
                ask = Ask { command: Command::Release(session), by, way, ..ask };
            }
            Act::Renew { which } => {
                let session = self.find(environment, which);
                ask = Ask { command: Command::Renew(session), by: self.own(session), ..ask };
            }
            Act::Hear { which } => {
                let session = self.find(environment, which);
                ask = Ask { command: Command::Hear(session), by: self.own(session), ..ask };
            }
            Act::Request { of, user, grace } => {
                let (of, grace) = (self.find(environment, of), SignedDuration::from_secs(grace));
                let command = Command::RequestHandover { of, by: self.claim(user, None), grace };
                ask = Ask { command, by: user, user, ..ask };
            }
            Act::Accept { which } => {
                let session = self.find(environment, which);
                ask = Ask { command: Command::AcceptHandover(session), by: self.own(session), ..ask };
            }
            Act::Decline { which } => {
                let session = self.find(environment, which);
                ask = Ask { command: Command::DeclineHandover(session), by: self.own(session), ..ask };
            }
            Act::Sweep => {}
        }
        ask
    }

    fn claim(&self, user: usize, lease: Option<i64>) -> Claim {
        let terms = LeaseTerms {
            length: SignedDuration::from_secs(lease.unwrap_or(DEFAULT_LEASE)),
            longest: SignedDuration::from_secs(LONGEST_LEASE),
        };
        let (session, user) = (session_id(self.asks), user_id(user));
        let can_force = could_force(user_of(user));
        Claim { session, user, kind: KINDS[user_of(user)], terms, can_force, places: 0 }
    }

    fn find(&self, environment: usize, which: Which) -> SessionId {
        let (here, elsewhere) = (&self.environments[environment], &self.environments[1 - environment]);
        let found = match which {
            Which::Holder => here.state.lock.held.as_ref().map(|held| held.session),
            Which::Waiter(nth) => here.state.queue.iter().map(|waiting| waiting.session).nth(nth),
            Which::Earlier(nth) => here.sessions.get(nth).map(|session| session.id),
            Which::Elsewhere => elsewhere.sessions.last().map(|session| session.id),
            Which::Unknown => None,
        };
        found.unwrap_or_else(|| session_id(UNKNOWN))
    }

    /// The session's own user; if there is no such session, one of the people.
    fn own(&self, id: SessionId) -> usize {
        let mut sessions = self.environments.iter().flat_map(|environment| &environment.sessions);
        sessions.find(|session| session.id == id).map_or(0, |session| session.user)
    }
}
