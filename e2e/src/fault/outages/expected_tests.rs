use super::*;

const REAL: f64 = 1.5;

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn party(number: u128, right: Right, left: f64) -> Party {
    Party { session: id(number), right, left: Left::exactly(left), stay: 120.0, lease: 3600.0 }
}

fn queue_of(lease: f64, places: &[f64]) -> Expected {
    let place = |(index, left): (usize, &f64)| party(index as u128 + 2, Right::Place, *left);
    Expected {
        holder: Some(party(1, Right::Lease, lease)),
        queue: places.iter().enumerate().map(place).collect(),
        ..Expected::default()
    }
}

fn after(mut state: Expected, time: Passed) -> Option<Expected> {
    state.pass(time, false);
    state.settle(time.real)?;
    Some(state)
}

fn sessions(state: &Expected) -> (Option<Uuid>, Vec<Uuid>) {
    (state.holder.map(|holder| holder.session), state.queue.iter().map(|waiter| waiter.session).collect())
}

#[test]
fn places_do_not_run_during_an_absence() {
    let state = after(queue_of(7200.0, &[8.0, 110.0]), Passed::outage(600.0, REAL, 0.0)).unwrap();
    assert_eq!(sessions(&state), (Some(id(1)), vec![id(2), id(3)]));
    let state = after(state, Passed::present(20.0, REAL, 0.0)).unwrap();
    assert_eq!((sessions(&state), state.ended), ((Some(id(1)), vec![id(3)]), vec![id(2)]));
}

#[test]
fn a_place_that_was_over_before_ends() {
    let state = after(queue_of(7200.0, &[-20.0, 30.0]), Passed::outage(600.0, REAL, 0.0)).unwrap();
    assert_eq!(sessions(&state), (Some(id(1)), vec![id(3)]));
}

#[test]
fn an_absence_begins_at_the_last_sweep() {
    // It was over for 8 s, and the sweeper had not run for 9 s.
    assert_eq!(after(queue_of(7200.0, &[-8.0, 30.0]), Passed::outage(600.0, REAL, 9.0)), None);
}

#[test]
fn what_a_late_sweeper_extends_is_not_judged() {
    let state = after(queue_of(7200.0, &[30.0]), Passed::present(31.0, REAL, 3.0)).unwrap();
    assert_eq!(sessions(&state), (Some(id(1)), Vec::new()));
    assert_eq!(after(queue_of(7200.0, &[30.0]), Passed::present(31.0, REAL, 9.0)), None);
}

#[test]
fn a_short_outage_is_no_absence() {
    let state = after(queue_of(7200.0, &[4.0, 30.0]), Passed::outage(5.0, REAL, 0.0)).unwrap();
    assert_eq!(sessions(&state), (Some(id(1)), vec![id(3)]));
    // Whether it was one is not known, and matters.
    assert_eq!(after(queue_of(7200.0, &[4.0]), Passed::outage(9.0, REAL, 0.0)), None);
    assert!(after(queue_of(7200.0, &[40.0]), Passed::outage(9.0, REAL, 0.0)).is_some());
}

#[test]
fn a_confirmed_lease_ends_by_the_clock() {
    let state = after(queue_of(300.0, &[30.0, 40.0]), Passed::outage(301.0, REAL, 0.0)).unwrap();
    assert_eq!(sessions(&state), (Some(id(2)), vec![id(3)]));
    assert_eq!(state.holder.map(|holder| (holder.right, holder.left.most)), Some((Right::Turn, 60.0)));
    let state = after(queue_of(320.0, &[30.0]), Passed::outage(301.0, REAL, 0.0)).unwrap();
    assert_eq!(sessions(&state), (Some(id(1)), vec![id(2)]));
    assert_eq!(after(queue_of(301.5, &[30.0]), Passed::outage(301.0, REAL, 0.0)), None);
}

#[test]
fn a_turn_does_not_run_during_an_absence() {
    let mut state = queue_of(7200.0, &[100.0]);
    state.holder = Some(party(1, Right::Turn, 10.0));
    let state = after(state, Passed::outage(600.0, REAL, 0.0)).unwrap();
    assert_eq!(sessions(&state), (Some(id(1)), vec![id(2)]));
    // It may have been extended up to its full time, and not beyond it.
    assert_eq!(after(state.clone(), Passed::present(30.0, REAL, 0.0)), None);
    let state = after(state, Passed::present(61.0, REAL, 0.0)).unwrap();
    assert_eq!(sessions(&state), (Some(id(2)), vec![]));
}

#[test]
fn silence_accepts_after_the_absence() {
    for (accepts, holder) in [(true, id(2)), (false, id(1))] {
        let mut state = queue_of(7200.0, &[100.0]);
        state.request = Some(Request { by: id(2), left: Left::exactly(20.0), accepts });
        let state = after(state, Passed::outage(300.0, REAL, 0.0)).unwrap();
        assert_eq!((sessions(&state).0, state.request.is_some()), (Some(id(1)), true));
        let state = after(state, Passed::present(25.0, REAL, 0.0)).unwrap();
        assert_eq!((sessions(&state).0, state.request), (Some(holder), None));
    }
}

#[test]
fn actions_after_an_absence() {
    let before = after(queue_of(7200.0, &[10.0]), Passed::outage(300.0, REAL, 0.0)).unwrap();
    let mut state = before.clone();
    assert!(!state.act(Action::Claim, Some(party(9, Right::Lease, 60.0)), REAL));
    assert!(state.act(Action::Heartbeat(id(2)), None, REAL) && state.queue[0].left.most > 119.0);
    assert!(!state.act(Action::Renew(id(2)), None, REAL) && !state.act(Action::Heartbeat(id(7)), None, REAL));
    assert!(!state.act(Action::Release(id(1)), None, REAL));
    assert_eq!(sessions(&state), (Some(id(2)), vec![]));
    assert!(state.act(Action::Heartbeat(id(2)), None, REAL));
    assert_eq!(state.holder.map(|holder| holder.right), Some(Right::Lease));
    let mut free = Expected::default();
    assert!(free.act(Action::Claim, Some(party(9, Right::Lease, 60.0)), REAL));
    assert_eq!(sessions(&free).0, Some(id(9)));
}
