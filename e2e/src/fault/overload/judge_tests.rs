use super::*;
use crate::fault::overload::shape::Spread;

/// Returns the counts of a victim that the attack did not harm.
fn well() -> Counts {
    Counts { calls: 300, reads: 200, heartbeats: 20, renewals: 20, deployments: 3, ..Counts::default() }
}

fn shape(size: usize, at_work: usize) -> Shape {
    let at_work = Spread { min: at_work, median: at_work, max: at_work };
    Shape { size, samples: 40, at_work, attempts_per_second: size as f64, ..Shape::default() }
}

fn phase() -> Phase {
    Phase {
        name: "everything".to_owned(),
        lasted: Duration::from_secs(10),
        attack: BTreeMap::from([
            (Attack::SlowBodies, shape(1_400, 1_390)),
            (Attack::ForgedTokens, shape(500, 4)),
        ]),
        counts: well(),
        p95: Some(Duration::from_millis(25)),
        recovery: Some(Duration::from_secs(1)),
        max_rss_mib: 200.0,
    }
}

/// Returns the observations of a valid run without findings.
fn observed() -> Observed {
    let harmed = Counts { heartbeats_failed: 5, ..well() };
    let control = Control { counts: harmed, ..Control::default() };
    Observed {
        quiet: well(),
        quiet_p95: Some(Duration::from_millis(10)),
        phases: vec![phase()],
        control: Some(control),
        failures: Vec::new(),
    }
}

fn found(change: impl FnOnce(&mut Phase)) -> Vec<&'static str> {
    let mut observed = observed();
    change(&mut observed.phases[0]);
    judge(&observed).findings.iter().map(|finding| finding.property).collect()
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
    assert_eq!(found(|phase| phase.p95 = Some(Duration::from_millis(31))), ["p95Ratio"]);
    assert_eq!(found(|phase| phase.recovery = Some(Duration::from_millis(5_100))), ["recoverySeconds"]);
    assert_eq!(found(|phase| phase.recovery = None), ["recoverySeconds"]);
    assert_eq!(found(|phase| phase.max_rss_mib = 601.0), ["maxRssMib"]);
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
        observed.phases[0].attack.insert(Attack::SlowBodies, Shape { samples: 19, ..shape(1_400, 1_400) });
    });
    assert_eq!(void.unwrap(), "everything: slow-bodies has only 19 samples");
}

#[test]
fn a_victim_that_did_nothing_is_void() {
    assert!(void_after(|observed| observed.phases[0].counts.reads = 59).is_some());
    assert!(void_after(|observed| observed.phases[0].counts.heartbeats = 0).is_some());
    assert!(void_after(|observed| observed.phases[0].counts.renewals = 0).is_some());
    assert!(void_after(|observed| observed.phases[0].counts.deployments = 0).is_some());
    assert!(void_after(|observed| observed.quiet.reads = 0).is_some());
}

#[test]
fn harm_before_the_attack_is_void() {
    let void = void_after(|observed| observed.quiet.wrong_statuses = 1);
    assert_eq!(void.unwrap(), "wrongStatuses was 1 before any attack");
}

#[test]
fn no_attack_is_void() {
    assert_eq!(void_after(|observed| observed.phases.clear()).unwrap(), "there was no attack");
}

#[test]
fn a_control_without_harm_is_void() {
    assert!(void_after(|observed| observed.control = None).is_some());
    let unharmed = Control {
        quiet_p95: Some(Duration::from_millis(10)),
        counts: well(),
        p95: Some(Duration::from_millis(30)),
    };
    let slow = Control { p95: Some(Duration::from_millis(31)), ..unharmed.clone() };
    assert!(void_after(|observed| observed.control = Some(unharmed)).is_some());
    assert_eq!(void_after(|observed| observed.control = Some(slow)), None);
}
