//! The work slot: at most one piece of work acts on an environment at a time, whoever holds the lock.
//!
//! It passes on: the old deployment's confirmed end → teardown of the session that ended → the newest deployment that the
//! present session has asked for.

use std::fmt::Debug;

/// `D` names a deployment, `S` a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkSlot<D, S> {
    pub occupant: Option<Work<D, S>>,
    /// Teardowns whose sessions have ended, in that order.
    pub teardowns: Vec<S>,
    /// The deployment that waits for its turn. A newer one takes its place.
    pub waiting: Option<(D, S)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Work<D, S> {
    Deployment { deployment: D, session: S, canceling: bool },
    Teardown { session: S },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<D, S> {
    /// A session asks for a deployment.
    Asked { deployment: D, session: S },
    /// The occupant has ended, and this is known for certain.
    Ended,
    /// A session has ended. `teardown`: its environment is to be cleaned up.
    SessionEnded { session: S, teardown: bool },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<D, S> {
    Start(Work<D, S>),
    /// It never started, and now never will: another of its session came after it.
    Superseded(D),
    /// It never started, and now never will: its session has ended.
    Canceled(D),
    /// It runs and has to end.
    Cancel(D),
}

impl<D, S> Default for WorkSlot<D, S> {
    fn default() -> Self {
        Self { occupant: None, teardowns: Vec::new(), waiting: None }
    }
}

pub fn apply<D, S>(mut slot: WorkSlot<D, S>, event: Event<D, S>) -> (WorkSlot<D, S>, Vec<Effect<D, S>>)
where
    D: Copy + Eq + Debug,
    S: Copy + Eq + Debug,
{
    let mut effects = Vec::new();
    match event {
        Event::Asked { deployment, session } => {
            if let Some((waiting, of)) = slot.waiting.replace((deployment, session)) {
                effects.push(if of == session {
                    Effect::Superseded(waiting)
                } else {
                    Effect::Canceled(waiting)
                });
            }
        }
        Event::Ended => slot.occupant = None,
        Event::SessionEnded { session, teardown } => {
            if let Some((waiting, _)) = slot.waiting.take_if(|(_, of)| *of == session) {
                effects.push(Effect::Canceled(waiting));
            }
            if let Some(Work::Deployment { deployment, session: of, canceling }) = &mut slot.occupant
                && *of == session
                && !*canceling
            {
                *canceling = true;
                effects.push(Effect::Cancel(*deployment));
            }
            if teardown {
                slot.teardowns.push(session);
            }
        }
    }
    if slot.occupant.is_none() {
        let next = if slot.teardowns.is_empty() {
            slot.waiting.take().map(|(deployment, session)| Work::Deployment {
                deployment,
                session,
                canceling: false,
            })
        } else {
            Some(Work::Teardown { session: slot.teardowns.remove(0) })
        };
        effects.extend(next.clone().map(Effect::Start));
        slot.occupant = next;
    }
    (slot, effects)
}
