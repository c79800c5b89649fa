//! What happened to the victim between two moments.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::fault::overload::victim::recorder::{Call, Operation, Record};

/// The victim has recovered from an attack when this many reads in a row are as fast as in the quiet phase.
const READS_IN_A_ROW: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    pub(crate) calls: usize,
    pub(crate) reads: usize,
    /// Of jobs and of sessions.
    pub(crate) heartbeats: usize,
    pub(crate) heartbeats_failed: usize,
    pub(crate) renewals: usize,
    pub(crate) renewals_failed: usize,
    /// Deployments that were accepted.
    pub(crate) deployments: usize,
    pub(crate) deployments_lost: usize,
    pub(crate) locks_lost: usize,
    /// Responses to any operation that are not a success, and requests without a response (`none`).
    pub(crate) wrong_statuses: usize,
    pub(crate) wrong_by_status: BTreeMap<String, usize>,
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
        self.calls += 1;
        match call.operation {
            Operation::Read => self.reads += 1,
            Operation::JobHeartbeat | Operation::SessionHeartbeat => {
                self.heartbeats += 1;
                self.heartbeats_failed += failed;
            }
            Operation::Renew => {
                self.renewals += 1;
                self.renewals_failed += failed;
            }
            Operation::Claim | Operation::Deploy | Operation::Release | Operation::Runner => {}
        }
        if failed > 0 {
            self.wrong_statuses += 1;
            let name = call.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
            *self.wrong_by_status.entry(name).or_default() += 1;
        }
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

/// Returns the 95th percentile of the victim's reads between two moments.
pub(crate) fn p95_of_reads(calls: &[Call], from: Instant, to: Instant) -> Option<Duration> {
    let is_read = |call: &&Call| call.operation == Operation::Read && (from..to).contains(&call.at);
    let mut times: Vec<Duration> = calls.iter().filter(is_read).map(|call| call.took).collect();
    times.sort_unstable();
    times.get((times.len() * 95 / 100).min(times.len().saturating_sub(1))).copied()
}

/// Returns when the victim had recovered: the first of ten reads in a row, all sent after the attack, that
/// succeeded within `bound`.
pub(crate) fn recovery(calls: &[Call], ended: Instant, bound: Duration) -> Option<Duration> {
    let mut reads: Vec<&Call> =
        calls.iter().filter(|call| call.operation == Operation::Read && call.at >= ended).collect();
    reads.sort_unstable_by_key(|call| call.at);
    let is_well = |call: &&Call| call.is_good() && call.took <= bound;
    let well = reads.windows(READS_IN_A_ROW).find(|row| row.iter().all(is_well))?;
    well.first().map(|call| call.at.duration_since(ended))
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
        assert_eq!(counts.wrong_statuses, 3);
        assert_eq!(counts.wrong_by_status.get("none"), Some(&1));
    }

    #[test]
    fn the_95th_percentile_is_of_reads_within_the_window() {
        let began = Instant::now();
        let mut calls: Vec<Call> =
            (0..100).map(|number| call(Operation::Read, began, number, number + 1, Some(200))).collect();
        calls.push(call(Operation::Claim, began, 10, 9_000, Some(200)));
        calls.push(call(Operation::Read, began, 1_500, 9_000, Some(200)));
        let to = began + Duration::from_secs(1);
        assert_eq!(p95_of_reads(&calls, began, to), Some(Duration::from_millis(96)));
        assert_eq!(p95_of_reads(&calls[..1], began, to), Some(Duration::from_millis(1)));
        assert_eq!(p95_of_reads(&[], began, to), None);
    }

    #[test]
    fn recovery_needs_ten_good_reads_in_a_row() {
        let (began, bound) = (Instant::now(), Duration::from_millis(50));
        let mut calls: Vec<Call> =
            (0..8).map(|number| call(Operation::Read, began, number * 100, 5, Some(200))).collect();
        calls.push(call(Operation::Read, began, 800, 5, Some(503)));
        calls.push(call(Operation::Read, began, 900, 500, Some(200)));
        assert_eq!(recovery(&calls, began, bound), None);
        calls.extend((10..20).map(|number| call(Operation::Read, began, number * 100, 5, Some(200))));
        assert_eq!(recovery(&calls, began, bound), Some(Duration::from_secs(1)));
    }
}
