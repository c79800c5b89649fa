//! D13: free capacity under `concurrency` is used. No deployment waits for long while fewer run than
//! permitted, and never do more run than permitted.

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::check::{Evidence, short};
use crate::fault::deployments::definition::{NARROW, NARROW_CONCURRENCY};
use crate::fault::deployments::ledger::DeploymentRow;
use crate::fault::finding::Finding;

/// A fault may block everything for most of this time.
const MAX_WAIT: Micros = 90 * SECOND;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let rows: Vec<&DeploymentRow> =
        evidence.ledger.deployments.iter().filter(|row| row.pipeline == NARROW.slug).collect();
    // Every moment in which a deployment is created, starts or ends. Between two of them nothing changes.
    let moments = rows.iter().flat_map(|row| [Some(row.created_at), row.started_at, row.ended_at]);
    let mut moments: Vec<Micros> = moments.flatten().collect();
    moments.sort_unstable();
    let mut findings = Vec::new();
    let runs = |at: Micros| rows.iter().filter(|row| runs_at(row, at)).count();
    if let Some(at) = moments.iter().find(|at| runs(**at) > NARROW_CONCURRENCY) {
        let text = format!("{} deployments ran concurrently, {NARROW_CONCURRENCY} may", runs(*at));
        findings.push(Finding::new("D13", text));
    }
    for row in &rows {
        let until = row.started_at.or(row.ended_at).unwrap_or(Micros::MAX);
        let longest =
            longest_with_capacity(&moments, (row.created_at, until), |at| runs(at) < NARROW_CONCURRENCY);
        if longest > MAX_WAIT {
            let text = format!(
                "{} waited for {} s although there was free capacity",
                short(row.id),
                longest / SECOND
            );
            findings.push(Finding::new("D13", text));
        }
    }
    findings
}

fn runs_at(row: &DeploymentRow, at: Micros) -> bool {
    row.started_at.is_some_and(|started| started <= at) && row.ended_at.is_none_or(|ended| at < ended)
}

/// Returns the longest continuous time within `from..until` with free capacity.
fn longest_with_capacity(
    moments: &[Micros],
    (from, until): (Micros, Micros),
    has_capacity: impl Fn(Micros) -> bool,
) -> Micros {
    // A deployment that is still waiting was last observed at the last recorded moment.
    let until = until.min(moments.last().copied().unwrap_or(from).max(from));
    let (mut longest, mut since) = (0, None);
    for at in moments.iter().copied().filter(|at| (from..until).contains(at)) {
        if has_capacity(at) {
            since = since.or(Some(at));
        } else {
            longest = longest.max(since.take().map_or(0, |since: Micros| at - since));
        }
    }
    longest.max(since.map_or(0, |since| until - since))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{Sample, at};

    /// Two run from 10 to 20 and a third is created at 11.
    fn narrow(third_starts: i64) -> Sample {
        let mut sample = Sample::good();
        sample.deployment(3, 11);
        for row in &mut sample.ledger.deployments {
            row.pipeline = NARROW.slug.to_owned();
            (row.created_at, row.started_at, row.ended_at) = (10 * SECOND, at(10), at(20));
        }
        let third = &mut sample.ledger.deployments[2];
        (third.created_at, third.started_at, third.ended_at) =
            (11 * SECOND, at(third_starts), at(third_starts + 5));
        sample
    }

    #[test]
    fn free_capacity_is_used() {
        assert!(narrow(21).found(check).is_empty());
        assert_eq!(narrow(200).found(check), ["D13"]);
    }

    #[test]
    fn no_more_run_than_permitted() {
        assert_eq!(narrow(15).found(check), ["D13"]);
    }
}
