use super::*;
use crate::fault::overload::pair::Window;
use crate::fault::overload::server_use::ServerUse;
use crate::fault::overload::shape::Spread;
use crate::fault::overload::window::{Reads, TimedOut};

/// Returns the counts of a victim that the attack did not harm.
fn well() -> Counts {
    Counts { calls: 300, reads: 200, heartbeats: 20, renewals: 20, deployments: 3, ..Counts::default() }
}

fn shape(size: usize, at_work: usize) -> Shape {
    let at_work = Spread { min: at_work, median: at_work, max: at_work };
    Shape { size, samples: 60, at_work, attempts_per_second: size as f64, ..Shape::default() }
}

/// Returns a window with 100 reads, by the 95th percentile of the reads and the server's use per read, in milliseconds.
fn window(p95: u64, processor: u64, in_server: u64) -> Window {
    let of_all_reads = |millis: u64| Duration::from_millis(millis * 100);
    Window {
        reads: Reads { count: 100, left_out: 0, p95: Some(Duration::from_millis(p95)) },
        server: ServerUse {
            processor: of_all_reads(processor),
            processor_wait: Duration::ZERO,
            reads: 100.0,
            in_server: of_all_reads(in_server),
        },
    }
}

/// Returns a pair whose attack is within every limit.
fn pair() -> Pair {
    Pair { quiet: window(10, 5, 8), attack: window(25, 12, 20) }
}

fn phase() -> Phase {
    Phase {
        name: "everything".to_owned(),
        lasted: Duration::from_secs(24),
        attack: BTreeMap::from([
            (Attack::SlowBodies, shape(1_400, 1_390)),
            (Attack::ForgedTokens, shape(500, 4)),
        ]),
        counts: well(),
        pairs: vec![pair(); 6],
        recovery: Some(Duration::from_secs(1)),
        settled: Duration::from_secs(6),
        max_rss_mib: 200.0,
    }
}

/// Returns the observations of a valid run without findings, in which latency is judged too.
fn observed() -> Observed {
    let control = Control { counts: Counts { heartbeats_failed: 5, ..well() } };
    Observed {
        before: well(),
        phases: vec![phase()],
        control: Some(control),
        member_tokens: 100,
        failures: Vec::new(),
        longest_stall: Duration::from_millis(30),
        gates_latency: true,
    }
}

fn found(change: impl FnOnce(&mut Phase)) -> Vec<&'static str> {
    let mut observed = observed();
    change(&mut observed.phases[0]);
    judge(&observed).findings.iter().map(|finding| finding.property).collect()
}

/// Returns the findings if so many pairs have this window under attack.
fn found_in_pairs(count: usize, attack: Window) -> Vec<&'static str> {
    found(|phase| phase.pairs.iter_mut().take(count).for_each(|pair| pair.attack = attack))
}

fn void_after(change: impl FnOnce(&mut Observed)) -> Option<String> {
    let mut observed = observed();
    change(&mut observed);
    judge(&observed).void
}

#[test]
fn a_run_without_harm_counts() {
    let verdict = judge(&observed());
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
    assert_eq!(verdict.void, None);
}

#[test]
fn each_harm_is_found() {
    assert_eq!(found(|phase| phase.counts.heartbeats_failed = 1), ["heartbeatsFailed"]);
    assert_eq!(found(|phase| phase.counts.renewals_failed = 1), ["renewalsFailed"]);
    assert_eq!(found(|phase| phase.counts.deployments_lost = 1), ["deploymentsLost"]);
    assert_eq!(found(|phase| phase.counts.locks_lost = 1), ["locksLost"]);
    assert_eq!(found(|phase| phase.counts.wrong_statuses = 1), ["wrongStatuses"]);
    assert_eq!(found(|phase| phase.recovery = Some(Duration::from_millis(5_100))), ["recoverySeconds"]);
    assert_eq!(found(|phase| phase.recovery = None), ["recoverySeconds"]);
    assert_eq!(found(|phase| phase.max_rss_mib = 601.0), ["maxRssMib"]);
}

#[test]
fn a_person_has_a_bounded_number_of_tokens() {
    let verdict = judge(&Observed { member_tokens: 101, ..observed() });
    let found: Vec<&str> = verdict.findings.iter().map(|finding| finding.property).collect();
    assert_eq!(found, ["memberTokens"]);
}

#[test]
fn what_a_read_costs_the_server_is_found_in_five_of_six_pairs() {
    let [processor, in_server] = [MAX_PROCESSOR_RATIO, MAX_QUEUE_MILLIS].map(|limit| limit.ceil() as u64);
    let busy = window(25, 5 * processor + 1, 20);
    assert_eq!(found_in_pairs(5, busy), ["processorRatio"]);
    assert_eq!(found_in_pairs(4, busy), [""; 0]);
    let queued = window(25, 12, 8 + in_server + 1);
    assert_eq!(found_in_pairs(5, queued), ["queueMillis"]);
    assert_eq!(found_in_pairs(4, queued), [""; 0]);
}

#[test]
fn a_server_that_answers_nothing_under_attack_is_found() {
    let window = Window { reads: Reads::default(), server: ServerUse::default() };
    assert_eq!(found_in_pairs(5, window), ["processorRatio", "queueMillis", "p95Ratio"]);
    assert_eq!(found_in_pairs(4, window), [""; 0]);
}

#[test]
fn the_ratio_of_latencies_is_found_in_five_of_six_pairs() {
    let slow = window(31, 12, 20);
    assert_eq!(found_in_pairs(5, slow), ["p95Ratio"]);
    assert_eq!(found_in_pairs(4, window(900, 12, 20)), [""; 0]);
}

#[test]
fn the_ratio_of_latencies_is_a_violation_only_if_it_is_judged() {
    let mut observed = Observed { gates_latency: false, ..observed() };
    observed.phases[0].pairs = vec![Pair { attack: window(900, 12, 20), ..pair() }; 6];
    assert!(judge(&observed).findings.is_empty());
    assert_eq!(observed.phases[0].p95_ratio().median, Some(90.0));
}

#[test]
fn an_attacker_must_not_cause_an_internal_error() {
    let findings_for = |status: u16| {
        found(|phase| {
            let shape = phase.attack.entry(Attack::SlowBodies).or_default();
            shape.answers.insert(status, 1);
        })
    };
    assert_eq!(findings_for(500), ["wrongStatuses"]);
    for status in [200, 204, 401, 408, 410, 422, 429, 503] {
        assert_eq!(findings_for(status), [""; 0], "{status}");
    }
}

#[test]
fn a_program_that_ends_is_found() {
    let mut observed = observed();
    observed.failures.push("the server has ended".to_owned());
    let verdict = judge(&observed);
    assert_eq!(verdict.findings[0].property, "internal");
}

#[test]
fn harm_in_any_phase_is_found() {
    let mut observed = observed();
    let late = Phase { name: "polls".to_owned(), recovery: None, ..phase() };
    observed.phases.push(late);
    assert_eq!(judge(&observed).findings.len(), 1);
}

#[test]
fn an_attack_below_its_size_is_void() {
    let void = void_after(|observed| {
        observed.phases[0].attack.insert(Attack::SlowBodies, shape(1_400, 1_200));
    });
    assert_eq!(void.unwrap(), "everything: slow-bodies had only 1200 of 1400 connections at times");
    let void = void_after(|observed| {
        observed.phases[0]
            .attack
            .insert(Attack::ForgedTokens, Shape { attempts_per_second: 300.0, ..shape(500, 4) });
    });
    assert_eq!(void.unwrap(), "everything: forged-tokens had only 300 of 500 requests a second");
}

#[test]
fn an_attack_without_samples_for_its_whole_time_is_void() {
    let void = void_after(|observed| {
        observed.phases[0].attack.insert(Attack::SlowBodies, Shape { samples: 47, ..shape(1_400, 1_400) });
    });
    assert_eq!(void.unwrap(), "everything: slow-bodies has only 47 samples");
}

#[test]
fn a_victim_that_did_nothing_is_void() {
    assert!(void_after(|observed| observed.phases[0].counts.reads = 0).is_some());
    assert!(void_after(|observed| observed.phases[0].counts.heartbeats = 0).is_some());
    assert!(void_after(|observed| observed.phases[0].counts.renewals = 0).is_some());
    assert!(void_after(|observed| observed.phases[0].counts.deployments = 0).is_some());
    assert!(void_after(|observed| observed.before.reads = 0).is_some());
}

#[test]
fn a_quiet_window_with_few_reads_is_void() {
    let few = |count| void_after(|observed| observed.phases[0].pairs[3].quiet.reads.count = count);
    assert_eq!(few(39).unwrap(), "everything: a quiet window had 39 reads, 40 at least are needed");
    assert_eq!(few(40), None);
    // Under attack, few reads are slow ones.
    assert_eq!(void_after(|observed| observed.phases[0].pairs[3].attack.reads.count = 3), None);
}

#[test]
fn a_run_whose_reads_were_stalled_is_void_and_its_latency_is_not_judged() {
    let stalled = |left_out: usize| {
        let mut observed = observed();
        // Of 600 reads that count in either side of six pairs.
        observed.phases[0].pairs = vec![Pair { attack: window(900, 12, 20), ..pair() }; 6];
        observed.phases[0].pairs[0].quiet.reads.left_out = left_out;
        let verdict = judge(&observed);
        (verdict.void, verdict.findings.iter().map(|finding| finding.property).collect::<Vec<_>>())
    };
    assert_eq!(stalled(133), (None, vec!["p95Ratio"]));
    let void = "everything: the machine stood still in 134 of 1334 reads".to_owned();
    assert_eq!(stalled(134), (Some(void), Vec::new()));
}

/// Other programs keep the processors busy during so many quiet windows.
fn starve(phase: &mut Phase, pairs: usize) {
    for pair in phase.pairs.iter_mut().take(pairs) {
        pair.quiet.server.processor_wait = 5 * pair.quiet.server.processor;
    }
}

#[test]
fn a_run_beside_busy_programs_is_void_and_its_times_are_not_judged() {
    let starved = |pairs: usize| {
        let mut observed = observed();
        observed.phases[0].pairs = vec![Pair { attack: window(900, 500, 900), ..pair() }; 6];
        observed.phases[0].recovery = None;
        starve(&mut observed.phases[0], pairs);
        let verdict = judge(&observed);
        (verdict.void, verdict.findings.len())
    };
    assert_eq!(starved(1), (None, 4));
    let void = "everything: other programs kept the processors busy in 2 of 6 quiet windows".to_owned();
    assert_eq!(starved(2), (Some(void), 0));
}

#[test]
fn refusals_are_judged_in_a_disturbed_run_too_and_timeouts_are_not() {
    let failures = |phase: &mut Phase| {
        phase.counts = Counts { heartbeats_failed: 2, renewals_failed: 1, wrong_statuses: 3, ..well() };
        phase.counts.wrong_by_status = BTreeMap::from([("429".to_owned(), 1), ("503".to_owned(), 2)]);
        phase.counts.timed_out = TimedOut { heartbeats: 1, renewals: 1, all: 2 };
    };
    assert_eq!(found(failures), ["heartbeatsFailed", "renewalsFailed", "wrongStatuses"]);
    let found_if_starved = found(|phase| {
        failures(phase);
        starve(phase, 2);
    });
    assert_eq!(found_if_starved, ["heartbeatsFailed", "wrongStatuses"]);
    let found_if_stalled = found(|phase| {
        failures(phase);
        phase.pairs[0].attack.reads.left_out = 500;
    });
    assert_eq!(found_if_stalled, ["heartbeatsFailed", "wrongStatuses"]);
}

#[test]
fn a_stall_of_half_a_lease_is_void_and_nothing_is_judged() {
    let mut observed = Observed { longest_stall: Duration::from_secs(5), ..observed() };
    observed.phases[0].counts.locks_lost = 1;
    let verdict = judge(&observed);
    assert_eq!(verdict.void.unwrap(), "the machine stood still for 5.0 s");
    assert!(verdict.findings.is_empty());
    observed.longest_stall = Duration::from_millis(4_999);
    assert_eq!(judge(&observed).findings.len(), 1);
}

#[test]
fn a_kernel_without_scheduler_statistics_is_void() {
    let mut observed = observed();
    for pair in &mut observed.phases[0].pairs {
        (pair.quiet.server.processor, pair.attack.server.processor) = (Duration::ZERO, Duration::ZERO);
    }
    let verdict = judge(&observed);
    assert_eq!(verdict.void.unwrap(), "everything: the kernel has not recorded the server's processor time");
    assert!(verdict.findings.is_empty());
}

#[test]
fn harm_before_the_attack_is_void() {
    let void = void_after(|observed| observed.before.wrong_statuses = 1);
    assert_eq!(void.unwrap(), "wrongStatuses was 1 before any attack");
}

#[test]
fn no_attack_is_void() {
    assert_eq!(void_after(|observed| observed.phases.clear()).unwrap(), "there was no attack");
}

#[test]
fn a_control_without_harm_is_void() {
    assert!(void_after(|observed| observed.control = None).is_some());
    assert!(void_after(|observed| observed.control = Some(Control { counts: well() })).is_some());
}
