//! A client's memory: the sessions it holds or assumes to hold, those it waits for, past sessions, and
//! requests to repeat.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use crate::fault::client::http::Request;
use crate::fault::clock::Micros;
use crate::fault::history::{Environment, SessionView, Status};

const MAX_PAST_SESSIONS: usize = 12;

#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldSession {
    pub(crate) environment: Environment,
    pub(crate) session: Uuid,
    pub(crate) fence: i64,
    pub(crate) expires_at: Micros,
}

/// A request whose outcome is unknown, to be sent again with the same key.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) request: Request,
    pub(crate) due: Micros,
    /// The server of the last attempt.
    pub(crate) server: usize,
    pub(crate) tries: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) held: Vec<HeldSession>,
    pub(crate) waiting: Vec<(Environment, Uuid)>,
    pub(crate) past: VecDeque<(Environment, Uuid)>,
    pub(crate) retries: Vec<Retry>,
    /// Waiting sessions that the client only reads.
    pub(crate) only_read: HashSet<Uuid>,
    /// The next request and its server, before anything else is chosen.
    pub(crate) next: Option<(Request, usize)>,
}

impl Memory {
    /// Updates the memory with a session as a response showed it.
    pub(crate) fn update(&mut self, environment: Environment, view: &SessionView) {
        match (view.status, view.fence, view.expires_at) {
            (Status::Active, Some(fence), Some(expires_at)) => {
                self.waiting.retain(|(_, session)| *session != view.id);
                let now = HeldSession { environment, session: view.id, fence, expires_at };
                match self.held.iter_mut().find(|held| held.session == view.id) {
                    Some(held) => *held = now,
                    None => self.held.push(now),
                }
            }
            (Status::Queued, ..) if !self.waiting.iter().any(|(_, session)| *session == view.id) => {
                self.waiting.push((environment, view.id));
            }
            (status, ..) if status.has_ended() => self.move_to_past(environment, view.id),
            _ => {}
        }
    }

    /// Moves the session to the past ones.
    pub(crate) fn move_to_past(&mut self, environment: Environment, session: Uuid) {
        self.held.retain(|held| held.session != session);
        self.waiting.retain(|(_, waiting)| *waiting != session);
        if !self.past.iter().any(|(_, past)| *past == session) {
            self.past.push_back((environment, session));
        }
        if self.past.len() > MAX_PAST_SESSIONS {
            self.past.pop_front();
        }
    }
}

/// The sessions that were granted last and the deployments that were accepted last, for clients that act on
/// others'.
#[derive(Debug)]
pub(crate) struct Board {
    sessions: Mutex<Vec<Option<(Uuid, Uuid)>>>,
    deployments: Mutex<Vec<Option<Uuid>>>,
}

impl Board {
    pub(crate) fn new(environments: usize) -> Self {
        Self {
            sessions: Mutex::new(vec![None; environments]),
            deployments: Mutex::new(vec![None; environments]),
        }
    }

    pub(crate) fn record_session(&self, environment: Environment, session: Uuid, user: Uuid) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)[environment] = Some((session, user));
    }

    pub(crate) fn record_deployment(&self, environment: Environment, deployment: Uuid) {
        self.deployments.lock().unwrap_or_else(PoisonError::into_inner)[environment] = Some(deployment);
    }

    /// Forgets the sessions of an earlier round, because this round's checks do not include them.
    pub(crate) fn clear(&self) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).fill(None);
        self.deployments.lock().unwrap_or_else(PoisonError::into_inner).fill(None);
    }

    /// Returns the last session granted to another user.
    pub(crate) fn session_of_other(&self, environment: Environment, than: Uuid) -> Option<Uuid> {
        let recorded = self.sessions.lock().unwrap_or_else(PoisonError::into_inner)[environment];
        recorded.filter(|(_, user)| *user != than).map(|(session, _)| session)
    }

    /// Returns the newest deployment there, of any user.
    pub(crate) fn deployment(&self, environment: Environment) -> Option<Uuid> {
        self.deployments.lock().unwrap_or_else(PoisonError::into_inner)[environment]
    }
}
