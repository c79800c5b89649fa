//! The lease of a job: when it expires, by the runner's monotonic clock, and whether the job is canceled.
//! Written by the heartbeat, read by everything that works on the job.
//!
//! The lease counts from the moment before the heartbeat, or the request for the job, was sent. The server
//! cannot have started to count earlier, so it never gives the job to another runner while this one considers
//! the lease valid.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// How long a report is retried after the job should have ended.
const REPORT_GRACE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Lease {
    state: watch::Sender<LeaseState>,
    /// The stage's deadline plus the grace of its steps; `None` if the stage has no timeout.
    deadline: Option<Instant>,
}

#[derive(Clone, Debug)]
struct LeaseState {
    until: Instant,
    /// `until` is known not to be later than the server's expiry.
    is_confirmed: bool,
    cancellation: Option<Cancellation>,
    /// When the first cancellation arrived.
    canceled_at: Option<Instant>,
    /// The server has taken the job back.
    is_revoked: bool,
    /// The end of the job was sent to the server.
    is_end_sent: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// How long a step may take to end after SIGTERM.
    pub grace: Duration,
    pub reason: String,
    pub by: CanceledBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanceledBy {
    Server,
    /// The runner is shutting down; the server has no part in it.
    Runner,
}

impl Lease {
    /// The lease of a job that was received `now`. If the request was sent long ago, it is too uncertain when
    /// the server started to count. Then the lease is not confirmed before the first heartbeat.
    pub fn received(requested_at: Instant, now: Instant, length: Duration) -> Self {
        let until = requested_at + length;
        let is_confirmed = until.saturating_duration_since(now) >= length / 2;
        let until = if is_confirmed { until } else { now + length };
        let state = LeaseState {
            until,
            is_confirmed,
            cancellation: None,
            canceled_at: None,
            is_revoked: false,
            is_end_sent: false,
        };
        Lease { state: watch::Sender::new(state), deadline: None }
    }

    /// Sets when the job's stage has to have ended.
    #[must_use]
    pub fn with_deadline(self, deadline: Instant) -> Self {
        Lease { deadline: Some(deadline), ..self }
    }

    /// Sets the expiry after a successful heartbeat. Heartbeats are sent one after the other, so the response
    /// that arrives last is the newest and is used, even if it shortens the lease.
    pub fn renew(&self, until: Instant) {
        self.state.send_modify(|state| {
            state.is_confirmed = true;
            state.until = until;
        });
    }

    /// Cancels the job. The first cancellation wins, because steps get SIGTERM only once. A later one may
    /// shorten the grace.
    pub fn cancel(&self, cancellation: Cancellation) {
        self.state.send_if_modified(|state| match &mut state.cancellation {
            Some(first) if first.grace > cancellation.grace => {
                first.grace = cancellation.grace;
                true
            }
            Some(_) => false,
            none => {
                *none = Some(cancellation);
                state.canceled_at = Some(Instant::now());
                true
            }
        });
    }

    /// Ends the lease because the server has taken the job back.
    pub fn revoke(&self) {
        self.state.send_modify(|state| state.is_revoked = true);
    }

    /// Records that the end of the job is about to be sent. From then on a heartbeat may be refused because the job has
    /// ended.
    pub fn end_sent(&self) {
        self.state.send_modify(|state| state.is_end_sent = true);
    }

    pub fn is_end_sent(&self) -> bool {
        self.state.borrow().is_end_sent
    }

    pub fn is_valid(&self) -> bool {
        self.state.borrow().is_valid(Instant::now())
    }

    pub fn cancellation(&self) -> Option<Cancellation> {
        self.state.borrow().cancellation.clone()
    }

    pub fn is_confirmed(&self) -> bool {
        self.state.borrow().is_confirmed
    }

    /// Waits until the lease is confirmed.
    pub async fn confirmed(&self) {
        let mut state = self.state.subscribe();
        // This can't fail: the sender is part of this lease.
        let _ = state.wait_for(|state| state.is_confirmed).await;
    }

    pub async fn canceled(&self) -> Cancellation {
        let mut state = self.state.subscribe();
        loop {
            if let Some(cancellation) = state.borrow_and_update().cancellation.clone() {
                return cancellation;
            }
            if state.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until the cancellation's grace is shorter than `current`, and returns it.
    pub async fn grace_shortened(&self, current: Duration) -> Duration {
        let mut state = self.state.subscribe();
        let is_shorter =
            |state: &LeaseState| state.cancellation.as_ref().is_some_and(|known| known.grace < current);
        let grace = state
            .wait_for(is_shorter)
            .await
            .ok()
            .and_then(|now| now.cancellation.as_ref().map(|known| known.grace));
        match grace {
            Some(grace) => grace,
            None => std::future::pending().await,
        }
    }

    /// Waits until reports of this job are no longer retried: [`REPORT_GRACE`] after a cancellation's grace,
    /// or after the deadline. The server ends such a job without a report.
    pub async fn reporting_ended(&self) {
        let mut state = self.state.subscribe();
        loop {
            let at = state.borrow_and_update().report_deadline(self.deadline);
            let passed = async {
                match at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = passed => return,
                _ = state.changed() => {}
            }
        }
    }

    /// Waits until the lease has ended: it has expired, or the server has taken the job back.
    pub async fn ended(&self) {
        let mut state = self.state.subscribe();
        loop {
            let until = {
                let now = state.borrow_and_update();
                if !now.is_valid(Instant::now()) {
                    return;
                }
                now.until
            };
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                _ = state.changed() => {}
            }
        }
    }
}

impl LeaseState {
    /// Returns until when reports are retried.
    fn report_deadline(&self, deadline: Option<Instant>) -> Option<Instant> {
        let canceled = match (&self.cancellation, self.canceled_at) {
            (Some(cancellation), Some(at)) => Some(at + cancellation.grace + REPORT_GRACE),
            _ => None,
        };
        let late = deadline.map(|deadline| deadline + REPORT_GRACE);
        canceled.into_iter().chain(late).min()
    }

    fn is_valid(&self, now: Instant) -> bool {
        !self.is_revoked && now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(50);

    fn cancellation(reason: &str) -> Cancellation {
        Cancellation { grace: TICK, reason: reason.to_owned(), by: CanceledBy::Server }
    }

    fn lease(length: Duration) -> Lease {
        Lease::received(Instant::now(), Instant::now(), length)
    }

    #[test]
    fn the_lease_counts_from_the_request_unless_that_was_long_ago() {
        let (requested_at, length) = (Instant::now(), 60 * TICK);
        for (received, is_confirmed, until) in
            [(0, true, 60), (30, true, 60), (31, false, 91), (59, false, 119), (100, false, 160)]
        {
            let lease = Lease::received(requested_at, requested_at + received * TICK, length);
            let state = lease.state.borrow().clone();
            assert_eq!(
                (state.is_confirmed, state.until),
                (is_confirmed, requested_at + until * TICK),
                "{received}"
            );
        }
    }

    #[tokio::test]
    async fn a_lease_ends_at_its_expiry_and_not_before() {
        let start = Instant::now();
        let lease = Lease::received(start, start, 2 * TICK);
        assert!(lease.is_valid());
        lease.ended().await;
        assert!(start.elapsed() >= 2 * TICK);
        assert!(!lease.is_valid());
    }

    #[tokio::test]
    async fn the_latest_renewal_wins() {
        let start = Instant::now();
        let lease = Lease::received(start, start, 2 * TICK);
        lease.renew(start + 1000 * TICK);
        lease.renew(start + 4 * TICK);
        lease.ended().await;
        assert!(start.elapsed() >= 4 * TICK);
        assert!(start.elapsed() < 1000 * TICK);
    }

    #[tokio::test]
    async fn a_renewal_is_respected_while_waiting_for_the_end() {
        let start = Instant::now();
        let lease = Lease::received(start, start, 100 * TICK);
        let renew = async {
            tokio::task::yield_now().await;
            lease.renew(start + 110 * TICK);
            lease.renew(start + 4 * TICK);
        };
        tokio::join!(lease.ended(), renew);
        assert!(start.elapsed() >= 4 * TICK && start.elapsed() < 100 * TICK);
    }

    #[tokio::test]
    async fn a_revoked_lease_ends_immediately_and_permanently() {
        let lease = lease(1000 * TICK);
        lease.revoke();
        lease.ended().await;
        lease.renew(Instant::now() + 1000 * TICK);
        assert!(!lease.is_valid());
    }

    #[tokio::test]
    async fn a_later_cancellation_may_shorten_the_grace() {
        let lease = lease(Duration::from_secs(10));
        let with_grace =
            |seconds| Cancellation { grace: Duration::from_secs(seconds), ..cancellation("test") };
        lease.cancel(with_grace(30));
        lease.cancel(with_grace(60));
        lease.cancel(with_grace(0));
        assert_eq!(lease.grace_shortened(Duration::from_secs(30)).await, Duration::ZERO);
    }

    #[test]
    fn reports_are_retried_until_after_the_deadline_or_the_cancellations_grace() {
        let start = Instant::now();
        let deadline = start + Duration::from_secs(100);
        let lease = lease(Duration::from_secs(1000)).with_deadline(deadline);
        let last = |lease: &Lease| lease.state.borrow().report_deadline(lease.deadline).unwrap();
        assert_eq!(last(&lease), deadline + REPORT_GRACE);
        lease.cancel(Cancellation { grace: Duration::from_secs(20), ..cancellation("test") });
        let last = last(&lease);
        assert!(last >= start + Duration::from_secs(20) + REPORT_GRACE && last < deadline, "{last:?}");
    }

    #[tokio::test]
    async fn the_first_cancellation_wins() {
        let lease = lease(1000 * TICK);
        lease.cancel(cancellation("first"));
        lease.cancel(cancellation("second"));
        assert_eq!(lease.canceled().await, cancellation("first"));
    }
}
