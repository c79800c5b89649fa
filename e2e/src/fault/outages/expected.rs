//! What time and an outage may do to the sessions of one environment, by the rules of the documentation alone: the oracle of
//! `fault locks --outages`. It shares no code with the product.
//!
//! A lease that its holder has confirmed ends by the clock. Places, turns that are not confirmed and requests for hand-over
//! do not run while the installation is absent. Remaining times are intervals, because the harness can't read a clock at the
//! moment of a transaction. What an interval leaves open is not judged.

use uuid::Uuid;

/// The product counts an outage that is longer as an absence.
const LONGEST_GAP: f64 = 10.0;
/// The longest time between two sweeps of a worker that runs, and some time for a slow machine.
const SWEEP_INTERVAL: f64 = 2.5;
/// How long a session that is granted its turn has for the confirmation.
const TURN: f64 = 60.0;

/// Remaining seconds, within bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Left {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Left {
    pub(super) const fn exactly(seconds: f64) -> Self {
        Self { least: seconds, most: seconds }
    }

    /// Returns what is left of a time that began at an unknown moment of the last `real` seconds.
    fn begun_within(real: f64, full: f64) -> Self {
        Self { least: full - real, most: full }
    }

    fn after(self, least: f64, most: f64) -> Self {
        Self { least: self.least - most, most: self.most - least }
    }

    /// `None` if it can't be known.
    fn is_over(self) -> Option<bool> {
        match (self.least, self.most) {
            (_, most) if most <= 0.0 => Some(true),
            (least, _) if least > 0.0 => Some(false),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// A lease that its holder has confirmed.
    Lease,
    /// Granted from the queue, and not confirmed.
    Turn,
    Place,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Party {
    pub(super) session: Uuid,
    pub(super) right: Right,
    pub(super) left: Left,
    /// How long its place is kept after a heartbeat.
    pub(super) stay: f64,
    /// How far a renewal extends its lease.
    pub(super) lease: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) by: Uuid,
    pub(super) left: Left,
    /// Whether silence accepts it.
    pub(super) accepts: bool,
}

/// Time that passes between two moments at which the environment is settled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    /// Seconds by which all times were moved into the past.
    pub(super) moved: f64,
    /// Whether the installation was absent meanwhile, by what can be known.
    pub(super) absent: Option<bool>,
    /// How long the last sweep before it was ago, at most.
    pub(super) unswept: f64,
    /// The maximum of the real time that has passed as well.
    pub(super) real: f64,
}

impl Passed {
    /// An outage that lasts `moved` seconds, of which at most `real` were real. A sweeper may have waited for a connection that
    /// an earlier outage had broken, so the time since the last sweep is measured: `unswept` seconds.
    pub(super) fn outage(moved: f64, real: f64, unswept: f64) -> Self {
        let unswept = unswept.max(SWEEP_INTERVAL);
        let absent = match moved {
            moved if moved > LONGEST_GAP => Some(true),
            moved if moved + real + unswept < LONGEST_GAP => Some(false),
            _ => None,
        };
        Self { moved, absent, unswept, real }
    }

    /// Time in which everything is reachable. The longest time without a sweep was `unswept` seconds: on a slow machine it can
    /// have been an absence.
    pub(super) fn present(moved: f64, real: f64, unswept: f64) -> Self {
        let absent = if unswept + SWEEP_INTERVAL < LONGEST_GAP { Some(false) } else { None };
        Self { moved, absent, unswept, real }
    }

    /// Returns by how much deadlines of presence come closer, at least and at most. An absence begins at the last sweep before
    /// it, so they can also be extended by the time since then.
    fn of_presence(self) -> (f64, f64) {
        match self.absent {
            Some(false) => (self.moved, self.moved + self.real),
            Some(true) => (-self.unswept, self.real),
            None => (-self.unswept, self.moved + self.real),
        }
    }
}

/// What a client requests right after an outage, before or after the first sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    Heartbeat(Uuid),
    Renew(Uuid),
    Release(Uuid),
    /// A plain claim by a user who has no session there.
    Claim,
}

/// The expected state of an environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Expected {
    pub(super) holder: Option<Party>,
    /// In the order in which they joined it.
    pub(super) queue: Vec<Party>,
    pub(super) request: Option<Request>,
    /// Sessions whose time was over, or that were released.
    pub(super) ended: Vec<Uuid>,
}

impl Expected {
    /// Lets time pass. `commanded` if a command may have come between the outage and the first sweep: both extend what the command has
    /// written, up to the full time.
    pub(super) fn pass(&mut self, time: Passed, commanded: bool) {
        let (least, most) = time.of_presence();
        if let Some(holder) = &mut self.holder {
            holder.left = match holder.right {
                Right::Lease => holder.left.after(time.moved, time.moved + time.real),
                Right::Turn | Right::Place => holder.left.after(least, most),
            };
            let is_alive = holder.left.most > 0.0;
            if holder.right == Right::Turn && is_alive {
                // A read settles a turn that is due, so every turn may be extended twice.
                let most = if time.absent == Some(false) { holder.left.most } else { TURN };
                holder.left.most = most.min(TURN);
            }
        }
        for waiter in &mut self.queue {
            waiter.left = waiter.left.after(least, most);
            waiter.left.most = waiter.left.most.min(waiter.stay);
        }
        if let Some(request) = &mut self.request {
            let is_alive = request.left.most > 0.0;
            request.left = request.left.after(least, most);
            if commanded && is_alive && time.absent != Some(false) {
                request.left.most += time.moved;
            }
        }
    }

    /// Ends what is over and grants what is free. `None` if that can't be known.
    pub(super) fn settle(&mut self, real: f64) -> Option<()> {
        if let (Some(holder), Some(request)) = (self.holder, self.request)
            && request.left.is_over()?
        {
            let waiter = self.queue.iter().find(|waiter| waiter.session == request.by)?;
            if holder.left.is_over()? || waiter.left.is_over()? {
                // It depends on which of them was over first.
                return None;
            }
            self.request = None;
            if request.accepts {
                self.end_holder();
            }
        }
        if let Some(holder) = self.holder
            && holder.left.is_over()?
        {
            self.end_holder();
        }
        for waiter in std::mem::take(&mut self.queue) {
            match waiter.left.is_over()? {
                true => self.ended.push(waiter.session),
                false => self.queue.push(waiter),
            }
        }
        self.grant(real);
        Some(())
    }

    /// Applies an action to the settled state. Returns whether its session has to be alive afterwards: the acting one, or the
    /// new one.
    pub(super) fn act(&mut self, action: Action, claimed: Option<Party>, real: f64) -> bool {
        let holds = |session: Uuid| self.holder.is_some_and(|holder| holder.session == session);
        match action {
            Action::Nothing => false,
            Action::Heartbeat(session) | Action::Renew(session) if holds(session) => {
                let is_turn = self.holder.is_some_and(|holder| holder.right == Right::Turn);
                if let Some(holder) = &mut self.holder
                    && (is_turn || matches!(action, Action::Renew(_)))
                {
                    holder.right = Right::Lease;
                    holder.left = Left::begun_within(real, holder.lease);
                }
                true
            }
            Action::Heartbeat(session) => {
                let waiter = self.queue.iter_mut().find(|waiter| waiter.session == session);
                let is_waiting = waiter.is_some();
                waiter.into_iter().for_each(|waiter| waiter.left = Left::begun_within(real, waiter.stay));
                is_waiting
            }
            // A place is not renewed.
            Action::Renew(_) => false,
            Action::Release(session) if holds(session) => {
                self.end_holder();
                self.grant(real);
                false
            }
            Action::Release(session) => {
                let waited = self.queue.iter().any(|waiter| waiter.session == session);
                self.queue.retain(|waiter| waiter.session != session);
                self.ended.extend(waited.then_some(session));
                self.request = self.request.filter(|request| request.by != session);
                false
            }
            Action::Claim => {
                let is_free = self.holder.is_none() && self.queue.is_empty();
                if is_free {
                    self.holder = claimed;
                }
                is_free
            }
        }
    }

    /// Returns everybody whose time is running.
    pub(super) fn alive(&self) -> impl Iterator<Item = &Party> {
        self.holder.iter().chain(&self.queue)
    }

    fn end_holder(&mut self) {
        self.ended.extend(self.holder.take().map(|holder| holder.session));
        self.request = None;
    }

    fn grant(&mut self, real: f64) {
        self.request =
            self.request.filter(|request| self.queue.iter().any(|waiter| waiter.session == request.by));
        if self.holder.is_none() && !self.queue.is_empty() {
            let first = self.queue.remove(0);
            self.holder = Some(Party { right: Right::Turn, left: Left::begun_within(real, TURN), ..first });
            self.request = None;
        }
    }
}

#[cfg(test)]
#[path = "expected_tests.rs"]
mod tests;
