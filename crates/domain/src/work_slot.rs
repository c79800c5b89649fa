//! The work slot: at most one deployment or teardown acts on an environment at a time, independently of the
//! lock.
//!
//! The slot is passed on in this order: confirmed end of the old deployment → teardown of the ended session →
//! newest deployment that the current session has requested.

use std::fmt::Debug;

/// `D` identifies a deployment, `S` a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkSlot<D, S> {
    pub occupant: Option<Work<D, S>>,
    /// The sessions whose teardowns wait, in the order in which the sessions ended.
    pub teardowns: Vec<S>,
    /// The deployment that waits for the slot. A newer one replaces it.
    pub waiting: Option<(D, S)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Work<D, S> {
    Deployment { deployment: D, session: S, canceling: bool },
    Teardown { session: S },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<D, S> {
    /// A session requests a deployment.
    Requested { deployment: D, session: S },
    /// The occupant is guaranteed to have ended.
    Ended,
    /// A session has ended. `teardown`: its environment has to be cleaned up.
    SessionEnded { session: S, teardown: bool },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<D, S> {
    Start(Work<D, S>),
    /// The deployment never starts: a newer one of its session replaced it.
    Superseded(D),
    /// The deployment never starts: its session has ended.
    Canceled(D),
    /// The deployment runs and has to be canceled.
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
        Event::Requested { deployment, session } => {
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

#[cfg(test)]
mod tests {
    use super::*;

    type Slot = WorkSlot<u8, char>;

    fn after(events: &[Event<u8, char>]) -> (Slot, Vec<Effect<u8, char>>) {
        events.iter().fold((Slot::default(), Vec::new()), |(slot, mut all), event| {
            let (slot, effects) = apply(slot, event.clone());
            all.extend(effects);
            (slot, all)
        })
    }

    fn requested(deployment: u8, session: char) -> Event<u8, char> {
        Event::Requested { deployment, session }
    }

    fn deployment(deployment: u8, session: char) -> Effect<u8, char> {
        Effect::Start(Work::Deployment { deployment, session, canceling: false })
    }

    #[test]
    fn one_runs_and_the_newest_waits() {
        let (slot, effects) = after(&[requested(1, 'a'), requested(2, 'a'), requested(3, 'a')]);
        assert_eq!(effects, [deployment(1, 'a'), Effect::Superseded(2)]);
        let (_, effects) = apply(slot, Event::Ended);
        assert_eq!(effects, [deployment(3, 'a')]);
    }

    #[test]
    fn the_slot_passes_through_teardown_to_the_next_session() {
        let (slot, effects) = after(&[
            requested(1, 'a'),
            Event::SessionEnded { session: 'a', teardown: true },
            requested(2, 'b'),
        ]);
        assert_eq!(effects, [deployment(1, 'a'), Effect::Cancel(1)]);
        let (slot, effects) = apply(slot, Event::Ended);
        assert_eq!(effects, [Effect::Start(Work::Teardown { session: 'a' })]);
        let (_, effects) = apply(slot, Event::Ended);
        assert_eq!(effects, [deployment(2, 'b')]);
    }

    #[test]
    fn an_unstarted_deployment_is_canceled_when_its_session_ends() {
        let (slot, effects) = after(&[
            requested(1, 'a'),
            requested(2, 'a'),
            Event::SessionEnded { session: 'a', teardown: false },
        ]);
        assert_eq!(effects, [deployment(1, 'a'), Effect::Canceled(2), Effect::Cancel(1)]);
        let (slot, effects) = apply(slot, Event::Ended);
        assert_eq!((slot, effects), (Slot::default(), Vec::new()));
    }
}
