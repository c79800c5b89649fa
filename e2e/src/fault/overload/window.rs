//! What happened to the victim between two moments.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::fault::overload::alternation::Side;
use crate::fault::overload::victim::recorder::{Call, Operation, Record};
use crate::parts::stalls::Stalls;

/// The victim has recovered from an attack when this many reads in a row succeed within a multiple of the 95th
/// percentile of all quiet windows.
const READS_IN_A_ROW: usize = 10;

/// The name of a missing response among the statuses.
const NO_RESPONSE: &str = "none";
/// The response if the database or a slot was not available in time.
const UNAVAILABLE: u16 = 503;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    pub(crate) calls: usize,
    pub(crate) reads: usize,
    /// Heartbeats of jobs and of sessions.
    pub(crate) heartbeats: usize,
    pub(crate) heartbeats_failed: usize,
    pub(crate) renewals: usize,
    pub(crate) renewals_failed: usize,
    pub(crate) claims: usize,
    pub(crate) claims_failed: usize,
    /// All requests of the runner but its heartbeats: polls, starts and ends of steps, logs, completions.
    pub(crate) runner_requests: usize,
    pub(crate) runner_requests_failed: usize,
    /// Deployments that were accepted.
    pub(crate) deployments: usize,
    pub(crate) deployments_lost: usize,
    pub(crate) locks_lost: usize,
    /// Responses to any operation that are not a success, and requests without a response (`none`).
    pub(crate) wrong_statuses: usize,
    pub(crate) wrong_by_status: BTreeMap<String, usize>,
    /// How many of the failures were timeouts.
    #[serde(skip)]
    pub(crate) timed_out: TimedOut,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimedOut {
    pub(crate) heartbeats: usize,
    pub(crate) renewals: usize,
    pub(crate) all: usize,
}

impl Counts {
    pub(crate) fn between(record: &Record, from: Instant, to: Instant) -> Self {
        let is_within = |at: &Instant| (from..to).contains(at);
        let mut counts = Self::default();
        for call in record.calls.iter().filter(|call| is_within(&call.at)) {
            counts.add(call);
        }
        for deployed in record.deployments.iter().filter(|deployed| is_within(&deployed.accepted_at)) {
            counts.deployments += 1;
            counts.deployments_lost += usize::from(deployed.lost.is_some());
        }
        counts.locks_lost = record.locks_lost.iter().filter(|at| is_within(at)).count();
        counts
    }

    fn add(&mut self, call: &Call) {
        let failed = usize::from(!call.is_good());
        let timed_out = usize::from(call.status.is_none_or(|status| status == UNAVAILABLE));
        self.timed_out.all += timed_out;
        self.calls += 1;
        match call.operation {
            Operation::Read => self.reads += 1,
            Operation::JobHeartbeat | Operation::SessionHeartbeat => {
                self.heartbeats += 1;
                self.heartbeats_failed += failed;
                self.timed_out.heartbeats += timed_out;
            }
            Operation::Renew => {
                self.renewals += 1;
                self.renewals_failed += failed;
                self.timed_out.renewals += timed_out;
            }
            Operation::Claim => {
                self.claims += 1;
                self.claims_failed += failed;
            }
            Operation::Runner => {
                self.runner_requests += 1;
                self.runner_requests_failed += failed;
            }
            Operation::Deploy | Operation::Release => {}
        }
        if failed > 0 {
            self.wrong_statuses += 1;
            let name = call.status.map_or_else(|| NO_RESPONSE.to_owned(), |status| status.to_string());
            *self.wrong_by_status.entry(name).or_default() += 1;
        }
    }

    /// Returns the counts without failures by a timeout: requests without a response, and those that the server answered
    /// with 503. On a machine that other programs keep busy, both occur without an attack.
    pub(crate) fn without_timeouts(&self) -> Self {
        let TimedOut { heartbeats, renewals, all } = self.timed_out;
        let mut counts = self.clone();
        counts.heartbeats_failed -= heartbeats;
        counts.renewals_failed -= renewals;
        counts.wrong_statuses -= all;
        counts.wrong_by_status.retain(|name, _| name != NO_RESPONSE && *name != UNAVAILABLE.to_string());
        counts
    }

    /// Returns the failures by name. Each of these must be 0.
    pub(crate) fn harm(&self) -> [(&'static str, usize); 5] {
        [
            ("heartbeatsFailed", self.heartbeats_failed),
            ("renewalsFailed", self.renewals_failed),
            ("deploymentsLost", self.deployments_lost),
            ("locksLost", self.locks_lost),
            ("wrongStatuses", self.wrong_statuses),
        ]
    }
}

/// The victim's reads of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// The number of reads that are evaluated.
    pub(crate) count: usize,
    /// The number of reads that are not evaluated, because they overlap a stall of the machine.
    pub(crate) left_out: usize,
    /// The 95th percentile; `None` without reads.
    pub(crate) p95: Option<Duration>,
}

impl Reads {
    /// Returns the reads that were sent between two moments. A read that does not end within a quiet window may be
    /// slowed down by the attack after it, and is not counted; one that does not end within an attack is.
    pub(crate) fn between(
        calls: &[Call],
        stalls: &Stalls,
        (from, to): (Instant, Instant),
        side: Side,
    ) -> Self {
        let is_of_window = |call: &Call| {
            (from..to).contains(&call.at) && (side == Side::Attack || call.at + call.took <= to)
        };
        let mut reads = Self::default();
        let mut times = Vec::new();
        for call in calls.iter().filter(|call| call.operation == Operation::Read && is_of_window(call)) {
            if stalls.overlap(call.at, call.at + call.took) {
                reads.left_out += 1;
            } else {
                times.push(call.took);
            }
        }
        reads.count = times.len();
        reads.p95 = p95(times);
        reads
    }
}

/// Returns the 95th percentile of all reads in these quiet times.
pub(crate) fn p95_of_quiet_reads(
    calls: &[Call],
    stalls: &Stalls,
    quiet: &[(Instant, Instant)],
) -> Option<Duration> {
    let is_quiet = |call: &Call| {
        let end = call.at + call.took;
        quiet.iter().any(|(from, to)| *from <= call.at && end <= *to) && !stalls.overlap(call.at, end)
    };
    let reads = calls.iter().filter(|call| call.operation == Operation::Read && is_quiet(call));
    p95(reads.map(|call| call.took).collect())
}

/// Returns the 95th percentile.
fn p95(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get((times.len() * 95 / 100).min(times.len().saturating_sub(1))).copied()
}

/// Returns when the victim had recovered: the first of ten reads in a row, all sent after the attack, that
/// succeeded within `bound`. Reads that overlap a stall are left out, and stalled time is not counted.
pub(crate) fn recovery(calls: &[Call], stalls: &Stalls, ended: Instant, bound: Duration) -> Option<Duration> {
    let counts = |call: &&Call| {
        call.operation == Operation::Read && call.at >= ended && !stalls.overlap(call.at, call.at + call.took)
    };
    let mut reads: Vec<&Call> = calls.iter().filter(counts).collect();
    reads.sort_unstable_by_key(|call| call.at);
    let is_well = |call: &&Call| call.is_good() && call.took <= bound;
    let well = reads.windows(READS_IN_A_ROW).find(|row| row.iter().all(is_well))?;
    let at = well.first()?.at;
    Some(at.duration_since(ended).saturating_sub(stalls.within(ended, at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::overload::victim::recorder::Deployed;

    fn call(operation: Operation, began: Instant, at: u64, took: u64, status: Option<u16>) -> Call {
        Call { at: began + Duration::from_millis(at), took: Duration::from_millis(took), operation, status }
    }

    #[test]
    fn failures_are_counted_by_kind() {
        let began = Instant::now();
        let calls = vec![
            call(Operation::JobHeartbeat, began, 10, 1, Some(503)),
            call(Operation::SessionHeartbeat, began, 20, 1, Some(200)),
            call(Operation::Renew, began, 30, 1, None),
            call(Operation::Read, began, 40, 1, Some(429)),
            call(Operation::Read, began, 5_000, 1, Some(429)),
            call(Operation::Claim, began, 45, 1, Some(201)),
            call(Operation::Runner, began, 46, 1, Some(429)),
        ];
        let lost = Some("errored".to_owned());
        let deployments = vec![
            Deployed { accepted_at: began + Duration::from_millis(50), lost },
            Deployed { accepted_at: began + Duration::from_millis(60), lost: None },
        ];
        let locks_lost = vec![began + Duration::from_millis(70)];
        let record = Record { calls, deployments, locks_lost, complaints: Vec::new() };
        let counts = Counts::between(&record, began, began + Duration::from_secs(1));
        assert_eq!((counts.heartbeats, counts.heartbeats_failed), (2, 1));
        assert_eq!((counts.renewals, counts.renewals_failed), (1, 1));
        assert_eq!((counts.deployments, counts.deployments_lost, counts.locks_lost), (2, 1, 1));
        assert_eq!((counts.claims, counts.claims_failed), (1, 0));
        assert_eq!((counts.runner_requests, counts.runner_requests_failed), (1, 1));
        assert_eq!(counts.wrong_statuses, 4);
        assert_eq!(counts.wrong_by_status.get("none"), Some(&1));
        let counts = counts.without_timeouts();
        assert_eq!((counts.heartbeats_failed, counts.renewals_failed, counts.wrong_statuses), (0, 0, 2));
        assert_eq!(counts.wrong_by_status, BTreeMap::from([("429".to_owned(), 2)]));
        assert_eq!((counts.deployments_lost, counts.locks_lost), (1, 1));
    }

    #[test]
    fn the_95th_percentile_is_of_reads_within_the_window() {
        let began = Instant::now();
        let mut calls: Vec<Call> =
            (0..100).map(|number| call(Operation::Read, began, number, number + 1, Some(200))).collect();
        calls.push(call(Operation::Claim, began, 10, 9_000, Some(200)));
        calls.push(call(Operation::Read, began, 1_500, 9_000, Some(200)));
        let window = (began, began + Duration::from_secs(1));
        let of = |calls: &[Call]| Reads::between(calls, &Stalls::default(), window, Side::Quiet);
        assert_eq!(of(&calls), Reads { count: 100, left_out: 0, p95: Some(Duration::from_millis(96)) });
        assert_eq!(of(&calls[..1]).p95, Some(Duration::from_millis(1)));
        assert_eq!(of(&[]), Reads::default());
    }

    #[test]
    fn a_read_that_outlasts_its_window_counts_for_an_attack_only() {
        let began = Instant::now();
        let calls = [call(Operation::Read, began, 900, 400, Some(200))];
        let window = (began, began + Duration::from_secs(1));
        let count = |side| Reads::between(&calls, &Stalls::default(), window, side).count;
        assert_eq!((count(Side::Quiet), count(Side::Attack)), (0, 1));
    }

    #[test]
    fn reads_that_overlap_a_stall_are_left_out_on_either_side() {
        let began = Instant::now();
        let calls: Vec<Call> =
            (0..10).map(|number| call(Operation::Read, began, number * 100, 50, Some(200))).collect();
        let stalls = Stalls::at(&[(began + Duration::from_millis(340), Duration::from_millis(100))]);
        let window = (began, began + Duration::from_secs(1));
        for side in [Side::Quiet, Side::Attack] {
            let reads = Reads::between(&calls, &stalls, window, side);
            assert_eq!((reads.count, reads.left_out), (8, 2), "{side:?}");
        }
    }

    #[test]
    fn recovery_needs_ten_good_reads_in_a_row() {
        let (began, bound) = (Instant::now(), Duration::from_millis(50));
        let recovery = |calls: &[Call], stalls: &Stalls| recovery(calls, stalls, began, bound);
        let mut calls: Vec<Call> =
            (0..8).map(|number| call(Operation::Read, began, number * 100, 5, Some(200))).collect();
        calls.push(call(Operation::Read, began, 800, 5, Some(503)));
        calls.push(call(Operation::Read, began, 900, 500, Some(200)));
        assert_eq!(recovery(&calls, &Stalls::default()), None);
        calls.extend((10..20).map(|number| call(Operation::Read, began, number * 100, 5, Some(200))));
        assert_eq!(recovery(&calls, &Stalls::default()), Some(Duration::from_secs(1)));
        // Without the slow and the refused read, the first ten are good.
        let stalls = Stalls::at(&[(began + Duration::from_millis(790), Duration::from_millis(150))]);
        assert_eq!(recovery(&calls, &stalls), Some(Duration::ZERO));
        // A stall before the first good read is not counted.
        let stalls = Stalls::at(&[(began + Duration::from_millis(710), Duration::from_millis(80))]);
        assert_eq!(recovery(&calls, &stalls), Some(Duration::from_millis(920)));
    }
}
