//! D12: a job past its deadline holds nothing, whatever its runner sends. Judged by the jobs of the runner that only sends heartbeats.

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::check::{Evidence, short};
use crate::fault::deployments::definition::{HOLLOW, HOLLOW_TIMEOUT_SECONDS};
use crate::fault::finding::Finding;

/// Beyond its timeout: what the server gives a runner to end by itself, a lease, the grace after it, and a fault in between.
const SLACK: Micros = 150 * SECOND;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let longest = Micros::from(HOLLOW_TIMEOUT_SECONDS) * SECOND + SLACK;
    let hollow = evidence.ledger.jobs.iter().filter(|job| job.runner.as_deref() == Some(HOLLOW));
    hollow
        .filter_map(|job| {
            let started = job.started_at?;
            let text = match job.ended_at {
                None => "has not ended".to_owned(),
                Some(ended) if ended - started > longest => {
                    format!("ended {} s after it began", (ended - started) / SECOND)
                }
                Some(_) => return None,
            };
            let (deployment, stage, attempt) = (short(job.deployment), &job.stage, job.attempt);
            let text = format!(
                "{deployment}/{stage}/{attempt} may take {HOLLOW_TIMEOUT_SECONDS} s, its runner only sent heartbeats, and it {text}"
            );
            Some(Finding::new("D12", text))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{Sample, at};

    fn hollow(ended_at: Option<Micros>) -> Sample {
        let mut sample = Sample::good();
        let job = &mut sample.ledger.jobs[0];
        (job.runner, job.ended_at) = (Some(HOLLOW.to_owned()), ended_at);
        sample
    }

    #[test]
    fn an_overdue_job_is_ended() {
        assert!(hollow(at(100)).found(check).is_empty());
        assert_eq!(hollow(at(400)).found(check), ["D12"]);
        assert_eq!(hollow(None).found(check), ["D12"]);
    }

    #[test]
    fn others_take_as_long_as_they_may() {
        let mut sample = Sample::good();
        sample.ledger.jobs[0].ended_at = at(1_000);
        assert!(sample.found(check).is_empty());
    }
}
