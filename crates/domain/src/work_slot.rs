//! The work slot: at most one deployment or teardown acts on an environment at a time, independently of the
//! lock. Others wait for the slot with the status `queued`.
//!
//! | Slot      | Event                | Slot afterwards          | Effects                                     |
//! |-----------|----------------------|--------------------------|---------------------------------------------|
//! | free      | `Requested`          | the new one              | supersedes what waits of its session        |
//! | held      | `Requested`          | unchanged, it waits      | supersedes what waits of its session        |
//! | free      | `TeardownQueued`     | the teardown             |                                             |
//! | held      | `TeardownQueued`     | unchanged, it waits      |                                             |
//! | free      | `Continued`          | the continued one        |                                             |
//! | held      | `Continued`          | unchanged                |                                             |
//! | held      | `Ended`, the holder  | the next one, or free    |                                             |
//! | any       | `Ended`, another one | unchanged                |                                             |
//!
//! The next one is the oldest teardown that waits, otherwise the newest deployment that waits, otherwise none.
//! A teardown is never superseded.
//!
//! The end of a session does not appear here: it cancels the session's deployments (`deployment::cancel`). The
//! slot stays with a deployment that is being canceled until its end is certain.

/// `D` identifies a deployment, `S` a session. Ids of deployments increase with their time of creation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkSlot<D, S> {
    /// The deployment that acts on the environment.
    pub holder: Option<D>,
    /// The deployments with the status `queued`, one of which may be the holder.
    pub queued: Vec<Queued<D, S>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Queued<D, S> {
    pub deployment: D,
    pub session: S,
    pub is_teardown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event<D, S> {
    /// A session requests a deployment.
    Requested { deployment: D, session: S },
    /// A session has ended, and its environment has to be cleaned up.
    TeardownQueued { deployment: D, session: S },
    /// A stage of a deployment that has ended is retried.
    Continued { deployment: D },
    /// A deployment is guaranteed to have ended.
    Ended { deployment: D },
}

/// What the store has to write besides the slot itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Effects<D> {
    /// These deployments never start: a newer one of their session replaced them.
    pub superseded: Vec<D>,
    /// The deployment that has just got the slot.
    pub assigned: Option<D>,
}

/// Returns the slot after the event, and the effects. A deployment that the event names may already be among
/// the queued ones.
pub fn apply<D, S>(mut slot: WorkSlot<D, S>, event: Event<D, S>) -> (WorkSlot<D, S>, Effects<D>)
where
    D: Copy + Ord,
    S: Copy + Eq,
{
    let holder = slot.holder;
    let mut superseded = Vec::new();
    match event {
        Event::Requested { deployment, session } => {
            slot.enqueue(Queued { deployment, session, is_teardown: false });
            slot.queued.retain(|queued| {
                let is_replaced = queued.session == session
                    && !queued.is_teardown
                    && queued.deployment != deployment
                    && Some(queued.deployment) != holder;
                superseded.extend(is_replaced.then_some(queued.deployment));
                !is_replaced
            });
            slot.holder = holder.or(Some(deployment));
        }
        Event::TeardownQueued { deployment, session } => {
            slot.enqueue(Queued { deployment, session, is_teardown: true });
            slot.holder = holder.or(Some(deployment));
        }
        Event::Continued { deployment } => slot.holder = holder.or(Some(deployment)),
        Event::Ended { deployment } => {
            slot.queued.retain(|queued| queued.deployment != deployment);
            if holder == Some(deployment) {
                slot.holder = slot.next();
            }
        }
    }
    let assigned = slot.holder.filter(|next| Some(*next) != holder);
    (slot, Effects { superseded, assigned })
}

impl<D: Copy + Ord, S> WorkSlot<D, S> {
    fn enqueue(&mut self, new: Queued<D, S>) {
        self.queued.retain(|queued| queued.deployment != new.deployment);
        self.queued.push(new);
    }

    fn next(&self) -> Option<D> {
        let waiting = |is_teardown: bool| {
            let of_kind = move |queued: &&Queued<D, S>| queued.is_teardown == is_teardown;
            self.queued.iter().filter(of_kind).map(|queued| queued.deployment)
        };
        waiting(true).min().or_else(|| waiting(false).max())
    }
}

#[cfg(test)]
#[path = "work_slot_tests.rs"]
mod tests;
