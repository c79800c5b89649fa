use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn limits(requests: u64, tokens: u64, cost: Micros) -> BudgetLimits {
    BudgetLimits {
        requests_per_day: Some(requests),
        tokens_per_month: Some(tokens),
        cost_per_month: Some(cost),
    }
}

fn amount(requests: u64, tokens: u64, cost: Micros) -> Amount {
    Amount { requests, tokens, cost }
}

const NOW: &str = "2026-11-17T22:00:00Z";

#[test]
fn each_limit_is_checked_and_states_when_it_resets() {
    let state = BudgetState { requests: 9, tokens: 900, cost: 90, ..BudgetState::new(at(NOW)) };
    let limits = limits(10, 1_000, 100);
    for (estimate, which, resets_at) in [
        (amount(2, 0, 0), Budget::Requests, Some("2026-11-18T00:00:00Z")),
        (amount(1, 101, 0), Budget::Tokens, Some("2026-12-01T00:00:00Z")),
        (amount(1, 100, 11), Budget::Cost, Some("2026-12-01T00:00:00Z")),
        (amount(11, 0, 0), Budget::Requests, None),
        (amount(1, 1_001, 0), Budget::Tokens, None),
        (amount(1, 0, u64::MAX), Budget::Cost, None),
    ] {
        let expected = Exhausted { which, resets_at: resets_at.map(at) };
        assert_eq!(reserve(state, &limits, estimate, at(NOW)), Err(expected), "{estimate:?}");
    }
    let (full, _) = reserve(state, &limits, amount(1, 100, 10), at(NOW)).unwrap();
    assert_eq!((full.requests, full.tokens, full.cost), (10, 1_000, 100));
}

#[test]
fn the_year_ends_with_a_month() {
    let state = BudgetState { tokens: 5, ..BudgetState::new(at("2026-12-31T23:59:59Z")) };
    let error = reserve(state, &limits(9, 5, 9), amount(1, 1, 0), at("2026-12-31T23:59:59Z")).unwrap_err();
    assert_eq!(error.resets_at, Some(at("2027-01-01T00:00:00Z")));
}

#[test]
fn without_limits_everything_is_counted_and_nothing_refused() {
    let state = BudgetState { tokens: u64::MAX - 1, ..BudgetState::new(at(NOW)) };
    let (state, _) = reserve(state, &BudgetLimits::default(), amount(1, 10, 10), at(NOW)).unwrap();
    assert_eq!((state.requests, state.tokens, state.cost), (1, u64::MAX, 10));
}

#[test]
fn concurrent_requests_never_exceed_a_limit() {
    // 32 requests are reserved before the first is settled; each uses any amount up to what it reserved.
    let limits = limits(20, 10_000, 1_000_000);
    for used_tokens in [0, 1, 500, 999, 1_000] {
        let (mut state, mut live) = (BudgetState::new(at(NOW)), Vec::new());
        for _ in 0..32 {
            if let Ok((next, reservation)) = reserve(state, &limits, amount(1, 1_000, 7), at(NOW)) {
                state = next;
                live.push(reservation);
            }
            assert!(state.requests <= 20 && state.tokens <= 10_000 && state.cost <= 1_000_000);
        }
        assert_eq!(live.len(), 10);
        let used = amount(1, used_tokens, 1);
        for reservation in live {
            state = settle(state, reservation, used, at(NOW));
            assert!(state.tokens <= 10_000);
        }
        assert_eq!((state.requests, state.tokens, state.cost), (10, 10 * used_tokens, 10));
    }
}

#[test]
fn releasing_a_reservation_restores_the_state() {
    let state = BudgetState { requests: 3, tokens: 4, cost: 5, ..BudgetState::new(at(NOW)) };
    let (reserved, reservation) = reserve(state, &BudgetLimits::default(), amount(1, 2, 3), at(NOW)).unwrap();
    assert_eq!(settle(reserved, reservation, Amount::default(), at(NOW)), state);
}

#[test]
fn a_higher_report_counts() {
    let (state, reservation) =
        reserve(BudgetState::new(at(NOW)), &limits(9, 10, 10), amount(1, 10, 10), at(NOW)).unwrap();
    let state = settle(state, reservation, amount(1, 25, 30), at(NOW));
    assert_eq!((state.tokens, state.cost), (25, 30));
    assert_eq!(
        reserve(state, &limits(9, 10, 10), amount(1, 1, 1), at(NOW)).unwrap_err().which,
        Budget::Tokens
    );
}

#[test]
fn a_new_day_and_a_new_month_start_empty() {
    let before = BudgetState { requests: 5, tokens: 50, cost: 500, ..BudgetState::new(at(NOW)) };
    let (state, _) =
        reserve(before, &BudgetLimits::default(), amount(1, 1, 1), at("2026-11-18T00:00:00Z")).unwrap();
    assert_eq!((state.requests, state.tokens, state.cost), (1, 51, 501));
    let (state, _) =
        reserve(before, &BudgetLimits::default(), amount(1, 1, 1), at("2026-12-01T00:00:00Z")).unwrap();
    assert_eq!((state.requests, state.tokens, state.cost), (1, 1, 1));
    // The clock of another database after a failover.
    let (state, _) =
        reserve(before, &BudgetLimits::default(), amount(1, 1, 1), at("2026-10-31T00:00:00Z")).unwrap();
    assert_eq!((state.requests, state.tokens, state.cost), (6, 51, 501));
}

#[test]
fn a_reservation_of_an_earlier_window_frees_nothing_in_the_present_one() {
    let late = at("2026-11-30T23:59:59Z");
    let (state, old) =
        reserve(BudgetState::new(late), &BudgetLimits::default(), amount(1, 100, 100), late).unwrap();
    let after = at("2026-12-01T00:00:05Z");
    let (state, _) = reserve(state, &BudgetLimits::default(), amount(1, 7, 7), after).unwrap();
    let settled = settle(state, old, amount(1, 90, 90), after);
    assert_eq!(settled, state);
    assert_eq!((settled.requests, settled.tokens, settled.cost), (1, 7, 7));
}

#[test]
fn costs_are_rounded_up_and_never_overflow() {
    let prices = Prices { input: 3_000_000, output: 15_000_000 };
    assert_eq!(prices.cost(0, 0), 0);
    assert_eq!(prices.cost(1, 0), 3);
    assert_eq!(Prices { input: 1, output: 0 }.cost(1, 0), 1);
    assert_eq!(prices.cost(1_000_000, 1_000_000), 18_000_000);
    assert_eq!(Prices { input: u64::MAX, output: u64::MAX }.cost(u64::MAX, u64::MAX), u64::MAX);
}

#[test]
fn the_upper_bound_covers_every_attempt() {
    let prices = Prices { input: 1_000_000, output: 2_000_000 };
    assert_eq!(Amount::upper_bound(2_000, 500, 4, prices), amount(1, 14_000, 16_000));
    let absurd = Amount::upper_bound(u64::MAX, u64::MAX, u64::MAX, prices);
    assert_eq!(absurd.tokens, u64::MAX);
}
