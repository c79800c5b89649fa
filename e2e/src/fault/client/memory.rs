//! What a client remembers: what it holds or believes to hold, what it waits for, what it once had, and what it has to ask again.

use std::collections::VecDeque;
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

/// Which sessions were last granted, for those who meddle with others'.
#[derive(Debug)]
pub(crate) struct Board(Mutex<Vec<Option<(Uuid, Uuid)>>>);

impl Board {
    pub(crate) fn new(environments: usize) -> Self {
        Self(Mutex::new(vec![None; environments]))
    }

    pub(crate) fn note(&self, environment: Environment, session: Uuid, user: Uuid) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[environment] = Some((session, user));
    }

    /// Sessions of an earlier chapter are not among what this one is judged by.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(None);
    }

    /// The session that somebody else was last seen with.
    pub(crate) fn of_another(&self, environment: Environment, than: Uuid) -> Option<Uuid> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner)[environment];
        noted.filter(|(_, user)| *user != than).map(|(session, _)| session)
    }
}
