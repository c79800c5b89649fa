//! The judge: derives findings from the observations and decides whether the run counts. Pure, so that each
//! way to fail is tested.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::fault::finding::Finding;
use crate::fault::overload::attack::{Attack, Unit};
use crate::fault::overload::shape::Shape;
use crate::fault::overload::window::Counts;

pub(crate) const MAX_P95_RATIO: f64 = 3.0;
const MAX_RECOVERY: Duration = Duration::from_secs(5);
const MAX_RSS_MIB: f64 = 600.0;
/// With fewer reads the 95th percentile is not meaningful.
const MIN_READS: usize = 60;
/// An attack with connections is at its size while this percentage is open, or refused and about to
/// reconnect.
const MIN_PERCENT_AT_WORK: usize = 90;
/// An attack at a rate is at its size with this percentage of its requests.
const MIN_PERCENT_OF_RATE: f64 = 80.0;
/// Samples are taken four times a second; a busy machine may miss some.
const MIN_SAMPLES_PER_SECOND: f64 = 2.0;

#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) quiet: Counts,
    pub(crate) quiet_p95: Option<Duration>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) control: Option<Control>,
    /// Programs that ended or panicked while the limits were on.
    pub(crate) failures: Vec<String>,
}

/// One attack, or all attacks together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phase {
    pub(crate) name: String,
    /// How long the attack lasted at its size.
    pub(crate) lasted: Duration,
    pub(crate) attack: BTreeMap<Attack, Shape>,
    /// From the attack's begin until the victim had recovered.
    pub(crate) counts: Counts,
    pub(crate) p95: Option<Duration>,
    /// `None` if the victim had not recovered when the campaign stopped waiting.
    pub(crate) recovery: Option<Duration>,
    pub(crate) max_rss_mib: f64,
}

/// All attacks together against a server without limits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control {
    pub(crate) quiet_p95: Option<Duration>,
    pub(crate) counts: Counts,
    pub(crate) p95: Option<Duration>,
}

#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) findings: Vec<Finding>,
    /// Why the run proves nothing.
    pub(crate) void: Option<String>,
}

pub(crate) fn judge(observed: &Observed) -> Verdict {
    let mut findings: Vec<Finding> =
        observed.failures.iter().map(|text| Finding::new("internal", text.clone())).collect();
    for phase in &observed.phases {
        findings.extend(findings_of(phase, observed.quiet_p95));
    }
    Verdict { findings, void: void(observed) }
}

/// Returns the 95th percentile of reads during an attack as a multiple of that in the quiet phase.
pub(crate) fn ratio(attack: Option<Duration>, quiet: Option<Duration>) -> Option<f64> {
    let (attack, quiet) = attack.zip(quiet)?;
    (!quiet.is_zero()).then(|| attack.as_secs_f64() / quiet.as_secs_f64())
}

fn findings_of(phase: &Phase, quiet_p95: Option<Duration>) -> Vec<Finding> {
    let name = &phase.name;
    let mut findings = Vec::new();
    for (property, count) in phase.counts.harm().into_iter().filter(|(_, count)| *count > 0) {
        let mut text = format!("{name}: {count}");
        if property == "wrongStatuses" {
            text += &format!(", by status {:?}", phase.counts.wrong_by_status);
        }
        findings.push(Finding::new(property, text));
    }
    if let Some(ratio) = ratio(phase.p95, quiet_p95).filter(|ratio| *ratio > MAX_P95_RATIO) {
        findings.push(Finding::new("p95Ratio", format!("{name}: {ratio:.2}, {MAX_P95_RATIO} at most")));
    }
    match phase.recovery {
        Some(time) if time <= MAX_RECOVERY => {}
        Some(time) => {
            findings.push(Finding::new("recoverySeconds", format!("{name}: {:.1}", time.as_secs_f64())))
        }
        None => findings.push(Finding::new("recoverySeconds", format!("{name}: not recovered"))),
    }
    if phase.max_rss_mib > MAX_RSS_MIB {
        let text = format!("{name}: {:.0}, {MAX_RSS_MIB} at most", phase.max_rss_mib);
        findings.push(Finding::new("maxRssMib", text));
    }
    for (attack, shape) in phase.attack.iter().filter(|(_, shape)| shape.internal_errors() > 0) {
        let text = format!("{name}: {} got the responses {:?}", attack.name(), shape.answers);
        findings.push(Finding::new("wrongStatuses", text));
    }
    findings
}

/// Returns why the run proves nothing: the victim did not work, the attack was too small, or it does no harm
/// even without limits.
fn void(observed: &Observed) -> Option<String> {
    if let Some((name, count)) = observed.quiet.harm().into_iter().find(|(_, count)| *count > 0) {
        return Some(format!("{name} was {count} before any attack"));
    }
    if observed.phases.is_empty() {
        return Some("there was no attack".to_owned());
    }
    let windows = observed.phases.iter().map(|phase| (phase.name.as_str(), &phase.counts));
    for (name, counts) in std::iter::once(("quiet", &observed.quiet)).chain(windows) {
        let short = [
            ("reads", counts.reads, MIN_READS),
            ("heartbeats", counts.heartbeats, 1),
            ("renewals", counts.renewals, 1),
            ("deployments", counts.deployments, 1),
        ];
        if let Some((what, count, min)) = short.into_iter().find(|(_, count, min)| count < min) {
            return Some(format!("{name}: the victim had {count} {what}, {min} at least are needed"));
        }
    }
    if let Some(text) = observed.phases.iter().find_map(too_small) {
        return Some(text);
    }
    match &observed.control {
        None => Some("there was no control without limits".to_owned()),
        Some(control) if !shows_harm(control) => {
            Some("the attack did no harm to a server without limits".to_owned())
        }
        Some(_) => None,
    }
}

/// Returns whether the victim of the control was harmed.
pub(crate) fn shows_harm(control: &Control) -> bool {
    control.counts.harm().iter().any(|(_, count)| *count > 0)
        || ratio(control.p95, control.quiet_p95).is_some_and(|ratio| ratio > MAX_P95_RATIO)
}

fn too_small(phase: &Phase) -> Option<String> {
    phase.attack.iter().find_map(|(attack, shape)| {
        let (phase_name, name, size) = (&phase.name, attack.name(), shape.size);
        if (shape.samples as f64) < phase.lasted.as_secs_f64() * MIN_SAMPLES_PER_SECOND {
            return Some(format!("{phase_name}: {name} has only {} samples", shape.samples));
        }
        match attack.unit() {
            Unit::Connections if shape.at_work.min * 100 < size * MIN_PERCENT_AT_WORK => {
                let least = shape.at_work.min;
                Some(format!("{phase_name}: {name} had only {least} of {size} connections at times"))
            }
            Unit::RequestsPerSecond
                if shape.attempts_per_second * 100.0 < size as f64 * MIN_PERCENT_OF_RATE =>
            {
                let rate = shape.attempts_per_second;
                Some(format!("{phase_name}: {name} had only {rate:.0} of {size} requests a second"))
            }
            Unit::Connections | Unit::RequestsPerSecond => None,
        }
    })
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
