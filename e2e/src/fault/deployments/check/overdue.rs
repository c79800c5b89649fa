//! D12: a job past its deadline holds nothing, whatever its runner sends. Checked with the jobs of the runner
//! that only sends heartbeats.

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::check::{Evidence, short};
use crate::fault::deployments::definition::{HEARTBEAT_ONLY, HEARTBEAT_ONLY_TIMEOUT_SECONDS};
use crate::fault::finding::Finding;

/// Tolerance beyond the timeout: the server's grace for the runner to stop, a lease, the grace after it, and
/// a fault in between.
const MAX_OVERDUE: Micros = 150 * SECOND;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let max = Micros::from(HEARTBEAT_ONLY_TIMEOUT_SECONDS) * SECOND + MAX_OVERDUE;
    let of_heartbeat_only_runner =
        evidence.ledger.jobs.iter().filter(|job| job.runner.as_deref() == Some(HEARTBEAT_ONLY));
    of_heartbeat_only_runner
        .filter_map(|job| {
            let started = job.started_at?;
            let text = match job.ended_at {
                None => "has not ended".to_owned(),
                Some(ended) if ended - started > max => {
                    format!("ended {} s after it began", (ended - started) / SECOND)
                }
                Some(_) => return None,
            };
            let (deployment, stage, attempt) = (short(job.deployment), &job.stage, job.attempt);
            let text = format!(
                "{deployment}/{stage}/{attempt} may take {HEARTBEAT_ONLY_TIMEOUT_SECONDS} s, its runner only sent heartbeats, and it {text}"
            );
            Some(Finding::new("D12", text))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{Sample, at};

    fn of_heartbeat_only_runner(ended_at: Option<Micros>) -> Sample {
        let mut sample = Sample::good();
        let job = &mut sample.ledger.jobs[0];
        (job.runner, job.ended_at) = (Some(HEARTBEAT_ONLY.to_owned()), ended_at);
        sample
    }

    #[test]
    fn an_overdue_job_is_ended() {
        assert!(of_heartbeat_only_runner(at(100)).found(check).is_empty());
        assert_eq!(of_heartbeat_only_runner(at(400)).found(check), ["D12"]);
        assert_eq!(of_heartbeat_only_runner(None).found(check), ["D12"]);
    }

    #[test]
    fn other_jobs_have_no_such_limit() {
        let mut sample = Sample::good();
        sample.ledger.jobs[0].ended_at = at(1_000);
        assert!(sample.found(check).is_empty());
    }
}
