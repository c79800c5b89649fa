//! How long a job is this runner's, by the runner's own monotonic clock, and whether it is to be ended. Written by
//! the heartbeat, read by everything that works on the job.
//!
//! The time counts from before a heartbeat was sent, or the question that the job was the answer to: the server cannot
//! have counted from earlier, so it never gives the job to another while this one still thinks that it holds it.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// How long a report is retried after the job had to be over.
const REPORT_TIME: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Lease {
    standing: watch::Sender<Standing>,
    /// When the stage's time is over, with what a step gets to end; `None` if the stage has no limit.
    deadline: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Standing {
    until: Instant,
    /// It is known when the server began to count.
    confirmed: bool,
    cancellation: Option<Cancellation>,
    /// When the first cancellation came.
    canceled_at: Option<Instant>,
    /// The server has taken it back.
    gone: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// How long a step may take to end after it was asked.
    pub grace: Duration,
    pub reason: String,
    pub by: CanceledBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanceledBy {
    Server,
    /// Which is told to stop; the server does not know of it.
    Runner,
}

impl Lease {
    /// Of a job that was received `now`. Who asked long ago knows too little of when the server began to count: then the
    /// first heartbeat has to tell.
    pub fn received(asked: Instant, now: Instant, length: Duration) -> Self {
        let until = asked + length;
        let confirmed = until.saturating_duration_since(now) >= length / 2;
        let until = if confirmed { until } else { now + length };
        let standing = Standing { until, confirmed, cancellation: None, canceled_at: None, gone: false };
        Lease { standing: watch::Sender::new(standing), deadline: None }
    }

    /// The same lease of a job whose stage has to be over at this time.
    #[must_use]
    pub fn with_deadline(self, deadline: Instant) -> Self {
        Lease { deadline: Some(deadline), ..self }
    }

    /// A heartbeat was answered. One is sent after the other, so the newest answer counts, also if it gives less.
    pub fn renew(&self, until: Instant) {
        self.standing.send_modify(|standing| {
            standing.confirmed = true;
            standing.until = until;
        });
    }

    /// The first word counts: a step that was asked to end is not asked again. A later one may give it less time.
    pub fn cancel(&self, cancellation: Cancellation) {
        self.standing.send_if_modified(|standing| match &mut standing.cancellation {
            Some(known) if known.grace > cancellation.grace => {
                known.grace = cancellation.grace;
                true
            }
            Some(_) => false,
            none => {
                *none = Some(cancellation);
                standing.canceled_at = Some(Instant::now());
                true
            }
        });
    }

    /// The server has taken the job back.
    pub fn revoke(&self) {
        self.standing.send_modify(|standing| standing.gone = true);
    }

    pub fn is_valid(&self) -> bool {
        self.standing.borrow().is_valid(Instant::now())
    }

    pub fn cancellation(&self) -> Option<Cancellation> {
        self.standing.borrow().cancellation.clone()
    }

    pub fn is_confirmed(&self) -> bool {
        self.standing.borrow().confirmed
    }

    /// Until it is known when the server began to count.
    pub async fn confirmed(&self) {
        let mut standing = self.standing.subscribe();
        // The sender is this lease itself, so it is there as long as this is waited for.
        let _ = standing.wait_for(|standing| standing.confirmed).await;
    }

    pub async fn canceled(&self) -> Cancellation {
        let mut standing = self.standing.subscribe();
        loop {
            if let Some(cancellation) = standing.borrow_and_update().cancellation.clone() {
                return cancellation;
            }
            if standing.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Until a cancellation gives less time than this; how much.
    pub async fn hurried(&self, than: Duration) -> Duration {
        let mut standing = self.standing.subscribe();
        let less =
            |standing: &Standing| standing.cancellation.as_ref().is_some_and(|known| known.grace < than);
        let grace = standing
            .wait_for(less)
            .await
            .ok()
            .and_then(|now| now.cancellation.as_ref().map(|known| known.grace));
        match grace {
            Some(grace) => grace,
            None => std::future::pending().await,
        }
    }

    /// Until reports of this job are not retried any more: [`REPORT_TIME`] after a cancellation's grace, or after the
    /// deadline. The server ends such a job by itself.
    pub async fn report_time_over(&self) {
        let mut standing = self.standing.subscribe();
        loop {
            let at = standing.borrow_and_update().last_report(self.deadline);
            let passed = async {
                match at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = passed => return,
                _ = standing.changed() => {}
            }
        }
    }

    /// Until the job is no longer this runner's: the time is over, or the server has said so.
    pub async fn over(&self) {
        let mut standing = self.standing.subscribe();
        loop {
            let until = {
                let now = standing.borrow_and_update();
                if !now.is_valid(Instant::now()) {
                    return;
                }
                now.until
            };
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                _ = standing.changed() => {}
            }
        }
    }
}

impl Standing {
    /// When a report is sent for the last time.
    fn last_report(&self, deadline: Option<Instant>) -> Option<Instant> {
        let canceled = match (&self.cancellation, self.canceled_at) {
            (Some(cancellation), Some(at)) => Some(at + cancellation.grace + REPORT_TIME),
            _ => None,
        };
        let late = deadline.map(|deadline| deadline + REPORT_TIME);
        canceled.into_iter().chain(late).min()
    }

    fn is_valid(&self, now: Instant) -> bool {
        !self.gone && now < self.until
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
    fn it_counts_from_the_question_unless_that_was_long_ago() {
        let (asked, length) = (Instant::now(), 60 * TICK);
        for (received, confirmed, until) in
            [(0, true, 60), (30, true, 60), (31, false, 91), (59, false, 119), (100, false, 160)]
        {
            let lease = Lease::received(asked, asked + received * TICK, length);
            let standing = lease.standing.borrow().clone();
            assert_eq!((standing.confirmed, standing.until), (confirmed, asked + until * TICK), "{received}");
        }
    }

    #[tokio::test]
    async fn it_is_over_when_its_time_is_and_not_before() {
        let start = Instant::now();
        let lease = Lease::received(start, start, 2 * TICK);
        assert!(lease.is_valid());
        lease.over().await;
        assert!(start.elapsed() >= 2 * TICK);
        assert!(!lease.is_valid());
    }

    #[tokio::test]
    async fn the_newest_answer_counts() {
        let start = Instant::now();
        let lease = Lease::received(start, start, 2 * TICK);
        lease.renew(start + 1000 * TICK);
        lease.renew(start + 4 * TICK);
        lease.over().await;
        assert!(start.elapsed() >= 4 * TICK);
        assert!(start.elapsed() < 1000 * TICK);
    }

    #[tokio::test]
    async fn a_renewal_while_somebody_waits_for_its_end_counts() {
        let start = Instant::now();
        let lease = Lease::received(start, start, 100 * TICK);
        let renew = async {
            tokio::task::yield_now().await;
            lease.renew(start + 110 * TICK);
            lease.renew(start + 4 * TICK);
        };
        tokio::join!(lease.over(), renew);
        assert!(start.elapsed() >= 4 * TICK && start.elapsed() < 100 * TICK);
    }

    #[tokio::test]
    async fn what_was_taken_back_is_over_at_once_and_stays_so() {
        let lease = lease(1000 * TICK);
        lease.revoke();
        lease.over().await;
        lease.renew(Instant::now() + 1000 * TICK);
        assert!(!lease.is_valid());
    }

    #[tokio::test]
    async fn a_later_cancellation_may_give_less_time() {
        let lease = lease(Duration::from_secs(10));
        let asked = |seconds| Cancellation { grace: Duration::from_secs(seconds), ..cancellation("asked") };
        lease.cancel(asked(30));
        lease.cancel(asked(60));
        lease.cancel(asked(0));
        assert_eq!(lease.hurried(Duration::from_secs(30)).await, Duration::ZERO);
    }

    #[test]
    fn reports_are_retried_for_a_while_after_the_deadline_or_the_cancellations_grace() {
        let start = Instant::now();
        let deadline = start + Duration::from_secs(100);
        let lease = lease(Duration::from_secs(1000)).with_deadline(deadline);
        let last = |lease: &Lease| lease.standing.borrow().last_report(lease.deadline).unwrap();
        assert_eq!(last(&lease), deadline + REPORT_TIME);
        lease.cancel(Cancellation { grace: Duration::from_secs(20), ..cancellation("asked") });
        let last = last(&lease);
        assert!(last >= start + Duration::from_secs(20) + REPORT_TIME && last < deadline, "{last:?}");
    }

    #[tokio::test]
    async fn the_first_cancellation_counts() {
        let lease = lease(1000 * TICK);
        lease.cancel(cancellation("first"));
        lease.cancel(cancellation("second"));
        assert_eq!(lease.canceled().await, cancellation("first"));
    }
}
