use uuid::Uuid;

use super::*;
use crate::id::UserId;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn digest(digit: &str) -> SubjectDigest {
    format!("sha256:{}", digit.repeat(64)).parse().unwrap()
}

fn pending() -> Approval {
    Approval::open(digest("a"), SignedDuration::from_secs(100), SignedDuration::from_secs(10), at(0))
}

fn rejected() -> Decision {
    Decision::Rejected { by: UserId::from(Uuid::from_u128(1)) }
}

/// Command, time, status afterwards.
#[test]
fn every_command_in_time_and_late() {
    use ApprovalStatus::{Approved, Canceled, Expired, Invalidated, Pending, Rejected, Superseded};
    let (same, other) = (digest("a"), digest("b"));
    let open = Decision::Open { needed: 1, have: 0 };
    for (command, in_time, late) in [
        (ApprovalCommand::Compare(&same), Pending, Expired),
        (ApprovalCommand::Compare(&other), Invalidated, Invalidated),
        (ApprovalCommand::Invalidate, Invalidated, Invalidated),
        (ApprovalCommand::Decide(open), Pending, Expired),
        (ApprovalCommand::Decide(Decision::Approved), Approved, Expired),
        (ApprovalCommand::Decide(rejected()), Rejected, Expired),
        (ApprovalCommand::Override, Approved, Expired),
        (ApprovalCommand::Cancel, Canceled, Expired),
        (ApprovalCommand::Supersede, Superseded, Expired),
    ] {
        for (now, expected) in [(at(99), in_time), (at(100), late)] {
            let mut approval = pending();
            let is_decided = approval.apply(&command, now);
            assert_eq!((approval.status, is_decided), (expected, expected != Pending), "{command:?} {now}");
            assert_eq!(approval.decided_at, is_decided.then_some(now));
            let until = (expected == Approved).then(|| at(109));
            assert_eq!(approval.valid_until, until, "{command:?}");
            if !is_decided {
                continue;
            }
            // Decided once.
            for again in [
                ApprovalCommand::Decide(Decision::Approved),
                ApprovalCommand::Cancel,
                ApprovalCommand::Override,
            ] {
                let before = approval.clone();
                assert!(!approval.apply(&again, now));
                assert_eq!(approval, before);
            }
        }
    }
}

#[test]
fn an_approval_lets_its_subject_begin_until_it_lapses() {
    let (same, other) = (digest("a"), digest("b"));
    let mut approval = pending();
    assert!(!approval.gate().permits(Some(&same), at(1)));
    approval.apply(&ApprovalCommand::Decide(Decision::Approved), at(50));
    let gate = approval.gate();
    assert_eq!(gate, Gate::Approved { digest: same.clone(), until: at(60) });
    for (present, now, permits) in [
        (Some(&same), at(50), true),
        (Some(&same), at(59), true),
        (Some(&same), at(60), false),
        (Some(&other), at(50), false),
        (None, at(50), false),
    ] {
        assert_eq!(gate.permits(present, now), permits, "{present:?} {now}");
        let settled = gate.clone().settle(present, now);
        let is_kept = permits || present.is_none();
        assert_eq!(settled, if is_kept { gate.clone() } else { Gate::Wanted }, "{present:?} {now}");
    }
    assert_eq!(gate.clone().retried(), gate);
    assert_eq!(gate.changes_at(), Some(at(60)));
}

#[test]
fn the_gate_of_an_open_or_refused_approval() {
    let (same, other) = (digest("a"), digest("b"));
    let open = pending().gate();
    assert_eq!(open.changes_at(), Some(at(100)));
    assert_eq!(open.clone().settle(Some(&same), at(99)), open);
    assert_eq!(open.clone().settle(None, at(99)), open);
    assert_eq!(open.clone().settle(Some(&other), at(100)), Gate::Wanted, "it is no longer about this");
    assert_eq!(open.clone().settle(Some(&same), at(100)), Gate::Refused(Refusal::Expired));
    assert_eq!(open.clone().settle(None, at(100)), Gate::Refused(Refusal::Expired));
    for (command, gate) in [
        (ApprovalCommand::Decide(rejected()), Gate::Refused(Refusal::Rejected)),
        (ApprovalCommand::Supersede, Gate::Refused(Refusal::Superseded)),
        (ApprovalCommand::Cancel, Gate::Wanted),
        (ApprovalCommand::Compare(&other), Gate::Wanted),
    ] {
        let mut approval = pending();
        approval.apply(&command, at(1));
        assert_eq!(approval.gate(), gate, "{command:?}");
        assert!(!gate.permits(Some(&same), at(1)));
        assert_eq!(gate.clone().retried(), Gate::Wanted);
        assert_eq!(gate.clone().settle(Some(&other), at(1_000)), gate);
    }
    assert!(Gate::Free.permits(None, at(0)));
    assert_eq!(Gate::Free.retried(), Gate::Free);
}
