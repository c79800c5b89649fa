//! What a client remembers: what it holds or believes to hold, what it waits for, what it once had, and what it has to ask again.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use crate::fault::client::http::Request;
use crate::fault::clock::Micros;
use crate::fault::history::{Environment, SessionView, Status};

const PAST: usize = 12;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) environment: Environment,
    pub(crate) session: Uuid,
    pub(crate) fence: i64,
    pub(crate) expires_at: Micros,
}

/// A request whose outcome is not known, to be sent again with the same key.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) request: Request,
    pub(crate) due: Micros,
    /// Where it went the last time.
    pub(crate) server: usize,
    pub(crate) tries: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) held: Vec<Held>,
    pub(crate) waiting: Vec<(Environment, Uuid)>,
    pub(crate) past: VecDeque<(Environment, Uuid)>,
    pub(crate) retries: Vec<Retry>,
    /// Sessions that it only ever reads, once they wait.
    pub(crate) only_read: HashSet<Uuid>,
    /// To be asked next, of this server, before anything else is thought of.
    pub(crate) next: Option<(Request, usize)>,
}

impl Memory {
    /// Takes in how a session was shown.
    pub(crate) fn saw(&mut self, environment: Environment, view: &SessionView) {
        match (view.status, view.fence, view.expires_at) {
            (Status::Active, Some(fence), Some(expires_at)) => {
                self.waiting.retain(|(_, session)| *session != view.id);
                let now = Held { environment, session: view.id, fence, expires_at };
                match self.held.iter_mut().find(|held| held.session == view.id) {
                    Some(held) => *held = now,
                    None => self.held.push(now),
                }
            }
            (Status::Queued, ..) if !self.waiting.iter().any(|(_, session)| *session == view.id) => {
                self.waiting.push((environment, view.id));
            }
            (status, ..) if status.has_ended() => self.lost(environment, view.id),
            _ => {}
        }
    }

    /// It is over with this session, but it is not forgotten.
    pub(crate) fn lost(&mut self, environment: Environment, session: Uuid) {
        self.held.retain(|held| held.session != session);
        self.waiting.retain(|(_, waiting)| *waiting != session);
        if !self.past.iter().any(|(_, past)| *past == session) {
            self.past.push_back((environment, session));
        }
        if self.past.len() > PAST {
            self.past.pop_front();
        }
    }
}

/// Which sessions were last granted and which deployments last accepted, for those who meddle with others'.
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

    pub(crate) fn note(&self, environment: Environment, session: Uuid, user: Uuid) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)[environment] = Some((session, user));
    }

    pub(crate) fn note_deployment(&self, environment: Environment, deployment: Uuid) {
        self.deployments.lock().unwrap_or_else(PoisonError::into_inner)[environment] = Some(deployment);
    }

    /// Sessions of an earlier chapter are not among what this one is judged by.
    pub(crate) fn forget(&self) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).fill(None);
        self.deployments.lock().unwrap_or_else(PoisonError::into_inner).fill(None);
    }

    /// The session that somebody else was last seen with.
    pub(crate) fn of_another(&self, environment: Environment, than: Uuid) -> Option<Uuid> {
        let noted = self.sessions.lock().unwrap_or_else(PoisonError::into_inner)[environment];
        noted.filter(|(_, user)| *user != than).map(|(session, _)| session)
    }

    /// The newest deployment there, whosever it is.
    pub(crate) fn deployment(&self, environment: Environment) -> Option<Uuid> {
        self.deployments.lock().unwrap_or_else(PoisonError::into_inner)[environment]
    }
}
