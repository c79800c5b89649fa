use jiff::SignedDuration;
use uuid::Uuid;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn deployment(number: u128) -> DeploymentId {
    DeploymentId::from(Uuid::from_u128(number))
}

fn user(number: u128) -> UserId {
    UserId::from(Uuid::from_u128(number))
}

fn slot(number: u128, has_begun: bool) -> Option<Slot> {
    Some(Slot { deployment: deployment(number), has_begun, is_blocked_by_older: false })
}

fn hold(by: u128, until: i64) -> Option<Hold> {
    let by = HoldBy { id: user(by), name: "Ana".to_owned() };
    Some(Hold { by, reason: "incident".to_owned(), until: at(until) })
}

const OWN: u128 = 1;
const OTHER: u128 = 2;
const NOW: i64 = 100;

/// Deployment 1, which user 1 started at second 10.
fn candidate() -> GateCandidate {
    GateCandidate {
        deployment: deployment(OWN),
        accepted_at: at(10),
        allows_older: false,
        started_by: user(1),
    }
}

#[test]
fn every_row_of_the_table_decides() {
    let waits_for_slot = GateDecision::Wait(Blocker::WorkSlot { deployment: deployment(OTHER) });
    let waits_for_hold = || GateDecision::Wait(Blocker::Hold(hold(2, 200).unwrap()));
    for (what, slot, newest_live, hold, expected) in [
        ("nothing", None, None, None, GateDecision::Begin),
        ("its slot", slot(OWN, false), None, None, GateDecision::Begin),
        ("another's slot", slot(OTHER, false), None, None, waits_for_slot.clone()),
        ("another at work", slot(OTHER, true), None, None, waits_for_slot),
        ("an older one was live", None, Some(9), None, GateDecision::Begin),
        ("it was live itself", None, Some(10), None, GateDecision::Begin),
        ("a newer one was live", None, Some(11), None, GateDecision::Outdated),
        ("a newer one was live, slot", slot(OWN, false), Some(11), None, GateDecision::Outdated),
        ("a newer one was live, begun", slot(OWN, true), Some(11), None, GateDecision::Begin),
        ("a newer one was live, another's slot", slot(OTHER, true), Some(11), None, GateDecision::Outdated),
        ("its own hold", None, None, hold(1, 200), GateDecision::Begin),
        ("another's hold", None, None, hold(2, 200), waits_for_hold()),
        ("another's hold, slot", slot(OWN, false), None, hold(2, 200), waits_for_hold()),
        ("another's hold, begun", slot(OWN, true), None, hold(2, 200), GateDecision::Begin),
        ("another's hold, another's slot", slot(OTHER, true), None, hold(2, 200), waits_for_hold()),
        ("a hold that has ended", None, None, hold(2, NOW), GateDecision::Begin),
    ] {
        let environment = LastingEnvironment {
            slot,
            newest_live: newest_live.map(at),
            hold,
            ..LastingEnvironment::default()
        };
        assert_eq!(decide(candidate(), &environment, at(NOW)), expected, "{what}");
    }
}

#[test]
fn a_rollback_begins_although_a_newer_one_was_live() {
    let environment = LastingEnvironment { newest_live: Some(at(11)), ..LastingEnvironment::default() };
    let rollback = GateCandidate { allows_older: true, ..candidate() };
    assert_eq!(decide(rollback, &environment, at(NOW)), GateDecision::Begin);
}

#[test]
fn the_older_of_two_that_block_each_other_is_outdated() {
    let blocked = slot(OTHER, true).map(|slot| Slot { is_blocked_by_older: true, ..slot });
    let environment = LastingEnvironment { slot: blocked, ..LastingEnvironment::default() };
    assert_eq!(decide(candidate(), &environment, at(NOW)), GateDecision::Outdated);
}

#[test]
fn a_blocker_is_stored_as_the_api_returns_it() {
    let stored = serde_json::to_value(Blocker::Hold(hold(2, 200).unwrap())).unwrap();
    assert_eq!(stored["kind"], "hold");
    assert_eq!(stored["by"]["name"], "Ana");
    assert_eq!(stored["until"], "1970-01-01T00:03:20Z");
    assert_eq!(serde_json::from_value::<Blocker>(stored).unwrap(), Blocker::Hold(hold(2, 200).unwrap()));
}

#[test]
fn a_freeze_holds_every_stage_until_its_end() {
    let freeze =
        |until| Some(Freeze { id: Uuid::from_u128(7).into(), name: "Holidays".to_owned(), until: at(until) });
    for (what, slot, hold) in [
        ("nothing", None, None),
        ("at work", slot(OWN, true), None),
        ("another's slot and hold", slot(OTHER, true), hold(2, 200)),
        ("its own hold", None, hold(1, 200)),
    ] {
        let mut environment =
            LastingEnvironment { slot, freeze: freeze(200), hold, ..LastingEnvironment::default() };
        let expected = GateDecision::Wait(Blocker::Freeze(freeze(200).unwrap()));
        assert_eq!(decide(candidate(), &environment, at(NOW)), expected, "{what}");
        environment.freeze = freeze(NOW);
        assert_ne!(decide(candidate(), &environment, at(NOW)), expected, "{what}");
    }
}

#[test]
fn a_user_who_may_not_deploy_is_denied_in_every_case() {
    for (what, slot, newest_live, hold) in [
        ("nothing", None, None, None),
        ("at work", slot(OWN, true), None, None),
        ("a newer one was live", None, Some(11), None),
        ("its own hold", None, None, hold(1, 200)),
    ] {
        let environment = LastingEnvironment {
            is_denied: true,
            slot,
            newest_live: newest_live.map(at),
            hold,
            ..LastingEnvironment::default()
        };
        let rollback = GateCandidate { allows_older: true, ..candidate() };
        assert_eq!(decide(rollback, &environment, at(NOW)), GateDecision::Denied, "{what}");
    }
}
