//! A request at work: its place among those in flight, and its deadline. One that begins to wait gives up the first and
//! gets more of the second, so that those who wait can't keep out those who work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::app::failure::{Code, Failure};

#[derive(Clone)]
pub struct Flight {
    state: Arc<Mutex<State>>,
    waiting: Arc<Semaphore>,
}

struct State {
    /// Among those that work, or among those that wait.
    _place: OwnedSemaphorePermit,
    deadline: Instant,
}

impl Flight {
    pub fn new(place: OwnedSemaphorePermit, deadline: Duration, waiting: Arc<Semaphore>) -> Self {
        let state = State { _place: place, deadline: Instant::now() + deadline };
        Self { state: Arc::new(Mutex::new(state)), waiting }
    }

    /// Goes over to those that wait, for so much longer.
    pub fn waits(&self, longer: Duration) -> Result<(), Failure> {
        let place = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| {
            let detail =
                "Too many requests wait on this server already. Queue instead (`queue: true`), or try again.";
            Failure::new(Code::Overloaded, detail)
        })?;
        let mut state = self.state();
        state._place = place;
        state.deadline += longer;
        Ok(())
    }

    /// The future's outcome, unless the deadline comes first, which may move on the way.
    pub async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        loop {
            let deadline = self.state().deadline;
            match tokio::time::timeout_at(deadline, &mut work).await {
                Ok(outcome) => return Some(outcome),
                Err(_) if self.state().deadline > deadline => {}
                Err(_) => return None,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Sync> FromRequestParts<S> for Flight {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let flight = parts.extensions.get::<Self>().cloned();
        flight.ok_or_else(|| Failure::internal("a request that is not in flight"))
    }
}
