//! The fenced target that represents an environment's real resource. It accepts writes with a fence, and
//! rejects any with a lower fence than one it has seen.

use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use crate::fault::clock::Micros;
use crate::fault::history::Environment;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) environment: Environment,
    pub(crate) session: Uuid,
    pub(crate) fence: i64,
    pub(crate) at: Micros,
    pub(crate) accepted: bool,
}

#[derive(Debug)]
pub(crate) struct Target(Mutex<(Vec<i64>, Vec<Write>)>);

impl Target {
    pub(crate) fn new(environments: usize) -> Self {
        Self(Mutex::new((vec![0; environments], Vec::new())))
    }

    pub(crate) fn write(&self, environment: Environment, (session, fence): (Uuid, i64), at: Micros) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let accepted = fence >= inner.0[environment];
        if accepted {
            inner.0[environment] = fence;
        }
        inner.1.push(Write { environment, session, fence, at, accepted });
    }

    /// Returns the writes since the last call; the fences are kept.
    pub(crate) fn take(&self) -> Vec<Write> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).1)
    }
}
