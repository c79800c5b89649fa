//! The model: the state of both environments in the domain's machine, with its own clock. A session's id is
//! the number of the request that created it, and a user's id is the index of the user.

use std::fmt;

use greenroom_domain::environment::{Applied, LockCommand};
use greenroom_domain::id::{SessionId, UserId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::owner::Owner;
use greenroom_domain::queue::timeout_of;
use greenroom_domain::token::TokenKind;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;
use uuid::Uuid;

use crate::expected_event::ExpectedEvent;
use crate::record::Environment;
use crate::step::{
    self, Act, By, DEFAULT_LEASE, ENVIRONMENTS, GrantPath, MAX_LEASE, MAX_STAY, PEOPLE, Step, TIME_UNIT,
    Which,
};

/// The kinds of the users' tokens.
const KINDS: [TokenKind; PEOPLE] = [TokenKind::User, TokenKind::Ci, TokenKind::Agent];
/// A number that no session has.
const UNKNOWN: u128 = 0xffff;

#[derive(Clone, Default)]
pub struct Model {
    pub now: Timestamp,
    pub environments: [Environment; ENVIRONMENTS],
    requests: u128,
    /// Users who may not hold sessions.
    demoted: [bool; PEOPLE],
    /// The last step, if it was a request.
    pub last: Option<Expected>,
}

/// A request, and its expected result.
#[derive(Clone, Debug)]
pub struct Expected {
    pub environment: usize,
    pub request: Request,
    /// The fast path handles it.
    pub fast_path: bool,
    /// Something is due by the clock, so the sweeper has to find it.
    pub due: bool,
    pub applied: Applied,
    pub events: Vec<ExpectedEvent>,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub command: LockCommand<'static>,
    pub by: usize,
    pub path: GrantPath,
    /// `None` requests the environment's default.
    pub lease: Option<i64>,
    /// The user of a new session.
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

/// Only tokens of kind `user` may force by default.
pub fn could_force(user: usize) -> bool {
    KINDS[user] == TokenKind::User
}

/// Returns how long the user keeps a place in a queue without a heartbeat.
pub fn place_timeout(user: usize) -> SignedDuration {
    timeout_of(KINDS[user], SignedDuration::from_secs(MAX_STAY))
}

fn session_id(number: u128) -> SessionId {
    Uuid::from_u128(number).into()
}

/// A failed case is printed with its initial state, which is always the same.
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
                    environment.update_rights(model.demoted);
                }
                model.last = None;
            }
            Step::At { environment, act } => {
                let mut request = model.request(environment, act);
                // The server rejects users who may not hold sessions, and transfers to them.
                if model.demoted[request.by] || model.demoted[request.user] {
                    request = model.request(environment, Act::Sweep);
                }
                let (now, place) = (model.now, &mut model.environments[environment]);
                let (fast_path, due) = (place.is_on_fast_path(&request, now), place.is_due(now));
                let (applied, events) = place.execute(&request, now);
                model.last = Some(Expected { environment, request, fast_path, due, applied, events });
            }
        }
        model
    }
}

impl Model {
    fn request(&mut self, environment: usize, act: Act) -> Request {
        self.requests += 1;
        let context = (!self.requests.is_multiple_of(3)).then(|| format!("request {}", self.requests));
        let mut request = Request {
            command: LockCommand::Sweep,
            by: 0,
            path: GrantPath::Slow,
            lease: None,
            user: 0,
            context,
            commit: None,
        };
        match act {
            Act::Claim { user, lease, path } => {
                request = Request {
                    command: LockCommand::Claim(self.claim(user, lease)),
                    by: user,
                    path,
                    lease,
                    user,
                    ..request
                };
            }
            Act::Queue { user, lease, deploys } => {
                let commit = deploys.then(|| format!("{:040x}", self.requests));
                let command = LockCommand::Queue(self.claim(user, lease));
                request = Request { command, by: user, user, commit, ..request };
            }
            Act::Force { user, lease } => {
                request = Request {
                    command: LockCommand::Force(self.claim(user, lease)),
                    by: user,
                    user,
                    ..request
                };
            }
            Act::Transfer { from, to, lease } => {
                let from = self.find(environment, from);
                let command = LockCommand::Transfer { from, to: self.claim(to, lease) };
                request = Request { command, by: self.user_of_session(from), user: to, ..request };
            }
            Act::Release { which, by, path } => {
                let session = self.find(environment, which);
                let by = match by {
                    By::Own => self.user_of_session(session),
                    By::User(user) => user,
                };
                request = Request { command: LockCommand::Release(session), by, path, ..request };
            }
            Act::Renew { which } => {
                let session = self.find(environment, which);
                request = Request {
                    command: LockCommand::Renew(session),
                    by: self.user_of_session(session),
                    ..request
                };
            }
            Act::Heartbeat { which } => {
                let session = self.find(environment, which);
                request = Request {
                    command: LockCommand::Heartbeat(session),
                    by: self.user_of_session(session),
                    ..request
                };
            }
            Act::RequestHandover { of, user, grace } => {
                let (of, grace) = (self.find(environment, of), SignedDuration::from_secs(grace));
                let command = LockCommand::RequestHandover { of, by: self.claim(user, None), grace };
                request = Request { command, by: user, user, ..request };
            }
            Act::Accept { which } => {
                let session = self.find(environment, which);
                request = Request {
                    command: LockCommand::AcceptHandover(session),
                    by: self.user_of_session(session),
                    ..request
                };
            }
            Act::Decline { which } => {
                let session = self.find(environment, which);
                request = Request {
                    command: LockCommand::DeclineHandover(session),
                    by: self.user_of_session(session),
                    ..request
                };
            }
            Act::Sweep => {}
        }
        request
    }

    fn claim(&self, user: usize, lease: Option<i64>) -> Claim<'static> {
        let terms = LeaseTerms {
            length: SignedDuration::from_secs(lease.unwrap_or(DEFAULT_LEASE)),
            max_length: SignedDuration::from_secs(MAX_LEASE),
        };
        let (session, user) = (session_id(self.requests), user_id(user));
        let can_force = could_force(user_of(user));
        Claim {
            session,
            owner: Owner::person(user),
            lineage: &[],
            kind: KINDS[user_of(user)],
            terms,
            max_stay: SignedDuration::from_secs(MAX_STAY),
            can_force,
            places: 0,
            is_at_session_limit: false,
        }
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

    /// Returns the session's user, or any user if there is no such session.
    fn user_of_session(&self, id: SessionId) -> usize {
        let mut sessions = self.environments.iter().flat_map(|environment| &environment.sessions);
        sessions.find(|session| session.id == id).map_or(0, |session| session.user)
    }
}
