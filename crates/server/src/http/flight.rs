//! A request under way: its slot among those at work, what it counts for, and its deadline. One that begins to wait gives up
//! the slot and gets more time, so that those who wait can't keep out those who work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::app::failure::Failure;
use crate::limits::{Charge, Counted, Limits, Sender, Slot};

#[derive(Clone)]
pub struct Flight {
    state: Arc<Mutex<State>>,
    limits: Limits,
    sender: Sender,
}

struct State {
    _place: Place,
    /// What it counts for, of its token and organization, or of its address.
    _counted: Counted,
    /// The memory of its body.
    _charge: Option<Charge>,
    deadline: Instant,
}

enum Place {
    /// Before it has a slot, and while only its body matters.
    Nowhere,
    AtWork {
        _slot: Slot,
    },
    Waiting {
        _permit: OwnedSemaphorePermit,
    },
}

impl Flight {
    /// The time begins now.
    pub fn new(limits: &Limits, sender: Sender, counted: Counted, charge: Option<Charge>) -> Self {
        let deadline = Instant::now() + limits.deadline;
        let state = State { _place: Place::Nowhere, _counted: counted, _charge: charge, deadline };
        Self { state: Arc::new(Mutex::new(state)), limits: limits.clone(), sender }
    }

    pub fn begin_work(&self, slot: Slot) {
        self.state()._place = Place::AtWork { _slot: slot };
    }

    /// Goes over to those that wait, for so much longer.
    pub fn waits(&self, longer: Duration) -> Result<(), Failure> {
        let permit = self.limits.wait()?;
        let mut state = self.state();
        state._place = Place::Waiting { _permit: permit };
        state.deadline += longer;
        Ok(())
    }

    /// Waits for a job, for so much longer. `concurrency` is how many jobs the runner says that it runs at once.
    pub fn polls(&self, concurrency: Option<u32>, longer: Duration) -> Result<(), Failure> {
        if let Sender::Bearer(bearer) = self.sender {
            let counted = self.limits.poll(bearer, concurrency)?;
            self.state()._counted = counted;
        }
        self.waits(longer)
    }

    /// Takes an archive in, for so much longer. It counts as an upload until the request is over, and takes neither a slot nor
    /// a place among those that wait.
    pub fn uploads(&self, longer: Duration) -> Result<(), Failure> {
        let Sender::Bearer(bearer) = self.sender else { return Err(Failure::unauthenticated()) };
        let counted = self.limits.upload(bearer)?;
        let mut state = self.state();
        state._counted = counted;
        state._place = Place::Nowhere;
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
