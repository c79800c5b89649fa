//! The size of an attack, computed from its samples.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::fault::overload::attack::{Attack, Unit};
use crate::fault::overload::sample::{Sample, Tally};

/// The minimum, the median and the maximum of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Spread {
    pub(crate) min: usize,
    pub(crate) median: usize,
    pub(crate) max: usize,
}

/// The size of one attack in one phase, as it was requested and as it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shape {
    /// The requested size: concurrent connections, or requests per second.
    pub(crate) size: usize,
    pub(crate) unit: &'static str,
    pub(crate) samples: usize,
    /// Connections that were open at the time of a sample.
    pub(crate) open: Spread,
    /// Connections that the server had refused and that waited to be opened again.
    pub(crate) refused: Spread,
    /// `open` and `refused` together with the connections that were being opened: those that the server had
    /// to handle then or a moment later.
    pub(crate) at_work: Spread,
    pub(crate) attempts_per_second: f64,
    /// The responses of all times that the attack was on, by status.
    pub(crate) answers: BTreeMap<u16, u64>,
    pub(crate) closed: u64,
    pub(crate) failed: u64,
}

impl Shape {
    /// Computes it from the samples of each time that the attack was switched on. An attacker that is switched on
    /// again is another process, which counts from 0.
    pub(crate) fn new(attack: Attack, size: usize, samples: &[&[Sample]]) -> Self {
        let tallies_of = |samples: &[Sample]| -> Vec<(u64, Tally)> {
            let tally = |sample: &Sample| Some((sample.at_millis, sample.attacks.get(&attack)?.clone()));
            samples.iter().filter_map(tally).collect()
        };
        let times: Vec<Vec<(u64, Tally)>> = samples.iter().map(|samples| tallies_of(samples)).collect();
        let tallies = || times.iter().flatten().map(|(_, tally)| tally);
        let spread = |of: fn(&Tally) -> usize| spread(tallies().map(of).collect());
        let (mut attempts, mut millis, mut end) = (0, 0, Tally::default());
        for time in &times {
            let (Some((from, first)), Some((to, last))) = (time.first(), time.last()) else { continue };
            attempts += last.attempts - first.attempts;
            millis += to - from;
            end.add_responses(last);
        }
        let attempts_per_second = if millis > 0 { attempts as f64 * 1e3 / millis as f64 } else { 0.0 };
        let unit = match attack.unit() {
            Unit::Connections => "connections",
            Unit::RequestsPerSecond => "requestsPerSecond",
        };
        Self {
            size,
            unit,
            samples: tallies().count(),
            open: spread(|tally| tally.open),
            refused: spread(|tally| tally.refused),
            at_work: spread(Tally::at_work),
            attempts_per_second,
            answers: end.answers,
            closed: end.closed,
            failed: end.failed,
        }
    }

    /// Returns the number of internal errors. An attacker may be refused, but not by an internal error.
    pub(crate) fn internal_errors(&self) -> u64 {
        self.answers
            .iter()
            .filter(|(status, _)| **status >= 500 && **status != 503)
            .map(|(_, count)| count)
            .sum()
    }
}

fn spread(mut values: Vec<usize>) -> Spread {
    values.sort_unstable();
    let at = |index: usize| values.get(index).copied().unwrap_or(0);
    Spread { min: at(0), median: at(values.len() / 2), max: at(values.len().saturating_sub(1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_millis: u64, open: usize, refused: usize, attempts: u64) -> Sample {
        let tally = Tally { open, refused, attempts, ..Tally::default() };
        Sample { at_millis, attacks: BTreeMap::from([(Attack::Polls, tally)]) }
    }

    #[test]
    fn refused_connections_are_at_work() {
        let samples = [sample(1_000, 80, 20, 100), sample(2_000, 10, 85, 300), sample(3_000, 40, 60, 500)];
        let shape = Shape::new(Attack::Polls, 100, &[&samples]);
        assert_eq!((shape.open.min, shape.open.median, shape.open.max), (10, 40, 80));
        assert_eq!((shape.at_work.min, shape.at_work.max), (95, 100));
        assert!((shape.attempts_per_second - 200.0).abs() < 1e-9);
    }

    #[test]
    fn each_time_that_an_attack_is_on_counts() {
        let answered = |at_millis, attempts, count| {
            let mut sample = sample(at_millis, 100, 0, attempts);
            let tally = sample.attacks.entry(Attack::Polls).or_default();
            tally.answers.insert(429, count);
            sample
        };
        let first = [answered(1_000, 100, 50), answered(2_000, 300, 250)];
        let second = [answered(5_000, 0, 0), answered(6_000, 400, 350)];
        let shape = Shape::new(Attack::Polls, 100, &[&first, &second]);
        // Not 100 in 5 seconds: the attack was off between them.
        assert!((shape.attempts_per_second - 300.0).abs() < 1e-9);
        assert_eq!((shape.samples, shape.answers.get(&429)), (4, Some(&600)));
    }

    #[test]
    fn without_samples_there_is_nothing() {
        let shape = Shape::new(Attack::SlowBodies, 100, &[&[sample(0, 1, 1, 1)]]);
        assert_eq!((shape.samples, shape.at_work), (0, Spread::default()));
    }

    #[test]
    fn only_internal_errors_are_the_servers_mistakes() {
        let answers = BTreeMap::from([(200, 1), (408, 2), (429, 3), (503, 4), (500, 5)]);
        assert_eq!(Shape { answers, ..Shape::default() }.internal_errors(), 5);
    }
}
