//! What a request occupies: its slot among the working requests, its limit counters, the memory of its body,
//! and its deadline. A request that begins to wait returns its slot and gets a later deadline, so that
//! waiting requests can't block working ones.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use greenroom_app::failure::Failure;
use greenroom_app::limits::{Charge, Counted, Limits, Sender, Slot};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::http::rules::early_response::EarlyResponse;

#[derive(Clone)]
pub struct RequestSlot {
    state: Arc<Mutex<State>>,
    limits: Limits,
    sender: Sender,
}

struct State {
    _phase: Phase,
    /// The limits that the request counts against: those of its token, person and organization, or of its address.
    _counted: Counted,
    /// The memory of the request's body.
    _charge: Option<Charge>,
    deadline: Instant,
}

enum Phase {
    /// Before the request gets a slot, and while it uploads an archive.
    WithoutSlot,
    Working {
        _slot: Slot,
    },
    Waiting {
        _permit: OwnedSemaphorePermit,
    },
}

impl RequestSlot {
    /// Starts the deadline.
    pub fn new(limits: &Limits, sender: Sender, counted: Counted, charge: Option<Charge>) -> Self {
        let deadline = Instant::now() + limits.deadline;
        let state = State { _phase: Phase::WithoutSlot, _counted: counted, _charge: charge, deadline };
        Self { state: Arc::new(Mutex::new(state)), limits: limits.clone(), sender }
    }

    pub fn begin_work(&self, slot: Slot) {
        self.state()._phase = Phase::Working { _slot: slot };
    }

    /// Exchanges the slot for a permit to wait, and extends the deadline. From then on the request does not
    /// count against its organization's share of the database connections.
    pub fn begin_wait(&self, extension: Duration) -> Result<(), Failure> {
        let permit = self.limits.wait()?;
        let mut state = self.state();
        state._phase = Phase::Waiting { _permit: permit };
        state.deadline += extension;
        Ok(())
    }

    /// Counts the request as one that waits for a job. `concurrency` is the number of concurrent jobs that
    /// the runner reports.
    pub fn count_poll(&self, concurrency: Option<u32>) -> Result<(), Failure> {
        if let Sender::Bearer(bearer) = self.sender {
            let counted = self.limits.poll(bearer, concurrency)?;
            self.state()._counted = counted;
        }
        Ok(())
    }

    /// Begins to receive an archive, and extends the deadline. The request counts as an upload until it ends,
    /// and occupies neither a slot nor a permit to wait.
    pub fn begin_upload(&self, extension: Duration) -> Result<(), Failure> {
        let Sender::Bearer(bearer) = self.sender else { return Err(Failure::unauthenticated()) };
        let counted = self.limits.upload(bearer)?;
        let mut state = self.state();
        state._counted = counted;
        state._phase = Phase::WithoutSlot;
        state.deadline += extension;
        Ok(())
    }

    /// Returns the future's output, or `None` if the deadline passes first. The future may extend it.
    pub async fn run_until_deadline<T>(&self, work: impl Future<Output = T>) -> Option<T> {
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

impl<S: Sync> FromRequestParts<S> for RequestSlot {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, EarlyResponse> {
        let request_slot = parts.extensions.get::<Self>().cloned();
        Ok(request_slot.ok_or_else(|| Failure::internal("a request without a request slot"))?)
    }
}
