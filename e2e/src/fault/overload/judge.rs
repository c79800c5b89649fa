//! The judge: derives findings from the observations and decides whether the run counts. Pure, so that each
//! way to fail is tested.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::fault::finding::Finding;
use crate::fault::overload::attack::{Attack, Unit};
use crate::fault::overload::compared::Compared;
use crate::fault::overload::pair::Pair;
use crate::fault::overload::shape::Shape;
use crate::fault::overload::window::Counts;

pub(crate) const MAX_P95_RATIO: f64 = 3.0;
/// The server's processor time per read of the victim, as a multiple of that in the quiet window. What was measured with
/// and without limits is in docs/reliability.md (Figures under overload).
pub(crate) const MAX_PROCESSOR_RATIO: f64 = 10.0;
/// How much longer a read of the victim takes within the server than in the quiet window, in milliseconds.
pub(crate) const MAX_QUEUE_MILLIS: f64 = 250.0;
pub(crate) const MAX_RECOVERY: Duration = Duration::from_secs(5);
pub(crate) const MAX_RSS_MIB: f64 = 600.0;
/// With fewer reads in a quiet window the 95th percentile is not meaningful. Under attack, few reads are slow reads.
const MIN_QUIET_READS: usize = 40;
/// How many valid tokens a person may have.
const MAX_MEMBER_TOKENS: usize = 100;
/// The largest share of the victim's reads that may be left out because the machine stood still.
const MAX_LEFT_OUT: f64 = 0.1;
/// How many pairs may have a quiet window in which other programs kept the processors busy.
const MAX_STARVED_PAIRS: usize = 1;
/// Half of the victim's leases. If the machine stands still for longer, the victim itself does not renew them in time.
const MAX_STALL: Duration = Duration::from_secs(5);
/// An attack with connections is at its size while this percentage is open, or refused and about to
/// reconnect.
const MIN_PERCENT_AT_WORK: usize = 90;
/// An attack at a rate is at its size with this percentage of its requests.
const MIN_PERCENT_OF_RATE: f64 = 80.0;
/// Samples are taken four times a second; a busy machine may miss some.
const MIN_SAMPLES_PER_SECOND: f64 = 2.0;

#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// Before the first attack.
    pub(crate) before: Counts,
    pub(crate) phases: Vec<Phase>,
    pub(crate) control: Option<Control>,
    /// How many tokens one member could make.
    pub(crate) member_tokens: usize,
    /// Programs that ended or panicked while the limits were on.
    pub(crate) failures: Vec<String>,
    /// The longest time for which the machine stood still.
    pub(crate) longest_stall: Duration,
    /// Whether the ratio of latencies can be a violation.
    pub(crate) gates_latency: bool,
}

/// One attack, or all attacks together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phase {
    pub(crate) name: String,
    /// How long the attack lasted at its size, in total.
    pub(crate) lasted: Duration,
    pub(crate) attack: BTreeMap<Attack, Shape>,
    /// What happened to the victim from the first window until it had recovered from the last attack.
    pub(crate) counts: Counts,
    pub(crate) pairs: Vec<Pair>,
    /// The longest of all times that the attack was switched off; `None` if the victim had not recovered once.
    pub(crate) recovery: Option<Duration>,
    /// How long the campaign has waited between an attack and a quiet window, in total.
    pub(crate) settled: Duration,
    pub(crate) max_rss_mib: f64,
}

/// All attacks together against a server without limits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control {
    pub(crate) counts: Counts,
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
    if observed.member_tokens > MAX_MEMBER_TOKENS {
        let text = format!("one member has {} tokens, {MAX_MEMBER_TOKENS} at most", observed.member_tokens);
        findings.push(Finding::new("memberTokens", text));
    }
    // What the victim loses while it does not run itself is not the server's loss.
    if observed.longest_stall < MAX_STALL {
        for phase in &observed.phases {
            findings.extend(findings_of_counts(phase));
            findings.extend(findings_of_windows(phase, observed.gates_latency));
        }
    }
    Verdict { findings, void: void(observed) }
}

impl Phase {
    /// The 95th percentile of the victim's reads.
    pub(crate) fn p95_ratio(&self) -> Compared {
        Compared::new(&self.pairs, MAX_P95_RATIO, |pair| {
            let (attack, quiet) = pair.attack.reads.p95.zip(pair.quiet.reads.p95)?;
            Some(ratio(attack.as_secs_f64(), quiet.as_secs_f64()))
        })
    }

    pub(crate) fn processor_ratio(&self) -> Compared {
        Compared::new(&self.pairs, MAX_PROCESSOR_RATIO, |pair| {
            let (attack, quiet) = (pair.attack.server, pair.quiet.server);
            Some(ratio(attack.processor_per_read()?, quiet.processor_per_read()?))
        })
    }

    pub(crate) fn queue_millis(&self) -> Compared {
        Compared::new(&self.pairs, MAX_QUEUE_MILLIS, |pair| {
            Some(pair.attack.server.in_server_per_read()? - pair.quiet.server.in_server_per_read()?)
        })
    }

    /// Returns how many reads were left out because the machine stood still, and all that there were.
    pub(crate) fn left_out(&self) -> (usize, usize) {
        let reads = || self.pairs.iter().flat_map(|pair| [pair.quiet.reads, pair.attack.reads]);
        let left_out: usize = reads().map(|reads| reads.left_out).sum();
        (left_out, left_out + reads().map(|reads| reads.count).sum::<usize>())
    }

    /// Returns the number of pairs in whose quiet window other programs kept the processors busy.
    pub(crate) fn starved_pairs(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.quiet.server.is_starved()).count()
    }

    /// Returns why nothing that depends on time can be concluded, if that is so.
    fn disturbance(&self) -> Option<String> {
        let (name, (left_out, reads), starved) = (&self.name, self.left_out(), self.starved_pairs());
        if left_out as f64 > reads as f64 * MAX_LEFT_OUT {
            return Some(format!("{name}: the machine stood still in {left_out} of {reads} reads"));
        }
        (starved > MAX_STARVED_PAIRS).then(|| {
            let pairs = self.pairs.len();
            format!("{name}: other programs kept the processors busy in {starved} of {pairs} quiet windows")
        })
    }
}

/// Returns 0 if the quiet window has no such figure; then the run is void.
fn ratio(attack: f64, quiet: f64) -> f64 {
    if quiet > 0.0 { attack / quiet } else { 0.0 }
}

fn findings_of_counts(phase: &Phase) -> Vec<Finding> {
    let (name, mut findings) = (&phase.name, Vec::new());
    let counts =
        if phase.disturbance().is_some() { phase.counts.without_timeouts() } else { phase.counts.clone() };
    for (property, count) in counts.harm().into_iter().filter(|(_, count)| *count > 0) {
        let mut text = format!("{name}: {count}");
        if property == "wrongStatuses" {
            text += &format!(", by status {:?}", counts.wrong_by_status);
        }
        findings.push(Finding::new(property, text));
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

/// Returns the findings that depend on time.
fn findings_of_windows(phase: &Phase, gates_latency: bool) -> Vec<Finding> {
    let (name, mut findings) = (&phase.name, Vec::new());
    if phase.disturbance().is_some() {
        return findings;
    }
    let compared = [
        ("processorRatio", phase.processor_ratio(), true),
        ("queueMillis", phase.queue_millis(), true),
        ("p95Ratio", phase.p95_ratio(), gates_latency),
    ];
    for (property, figure, _) in compared.iter().filter(|(_, figure, gates)| *gates && figure.is_violated()) {
        let (over, pairs, limit) = (figure.over, figure.pairs.len(), figure.limit);
        let text = format!("{name}: {over} of {pairs} pairs over {limit}: {}", figure.figures());
        findings.push(Finding::new(property, text));
    }
    match phase.recovery {
        Some(time) if time <= MAX_RECOVERY => {}
        Some(time) => {
            findings.push(Finding::new("recoverySeconds", format!("{name}: {:.1}", time.as_secs_f64())))
        }
        None => findings.push(Finding::new("recoverySeconds", format!("{name}: not recovered"))),
    }
    findings
}

/// Returns why the run proves nothing: the machine was disturbed, the victim did not work, the attack was too small, or
/// it does no harm even without limits.
fn void(observed: &Observed) -> Option<String> {
    if observed.longest_stall >= MAX_STALL {
        return Some(format!("the machine stood still for {:.1} s", observed.longest_stall.as_secs_f64()));
    }
    if let Some((name, count)) = observed.before.harm().into_iter().find(|(_, count)| *count > 0) {
        return Some(format!("{name} was {count} before any attack"));
    }
    if observed.phases.is_empty() {
        return Some("there was no attack".to_owned());
    }
    let windows = observed.phases.iter().map(|phase| (phase.name.as_str(), &phase.counts));
    for (name, counts) in std::iter::once(("before any attack", &observed.before)).chain(windows) {
        let done = [
            ("reads", counts.reads),
            ("heartbeats", counts.heartbeats),
            ("renewals", counts.renewals),
            ("deployments", counts.deployments),
        ];
        if let Some((what, _)) = done.into_iter().find(|(_, count)| *count == 0) {
            return Some(format!("{name}: the victim had no {what}"));
        }
    }
    if let Some(text) =
        observed.phases.iter().find_map(|phase| not_measured(phase).or_else(|| too_small(phase)))
    {
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
}

fn not_measured(phase: &Phase) -> Option<String> {
    if let Some(disturbance) = phase.disturbance() {
        return Some(disturbance);
    }
    let name = &phase.name;
    if phase.pairs.iter().any(|pair| pair.quiet.server.processor.is_zero()) {
        return Some(format!("{name}: the kernel has not recorded the server's processor time"));
    }
    let reads = phase.pairs.iter().map(|pair| pair.quiet.reads.count).min().unwrap_or_default();
    (reads < MIN_QUIET_READS)
        .then(|| format!("{name}: a quiet window had {reads} reads, {MIN_QUIET_READS} at least are needed"))
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
