//! What an organization may spend on a model: requests a day, tokens and money a month, all in UTC. Pure.
//!
//! The upper bound of a request is reserved before it is sent, and replaced by what was really used afterwards. So
//! any number of concurrent requests together stay within the limits, as long as each transaction reads the state,
//! reserves and writes it back under one row lock.
//!
//! A request with its retries counts as one request. A reservation that is never settled, because its process died,
//! stays counted until its day or month ends: what was sent can't be known any more.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::text_enum::text_enum;

/// An amount of money: millionths of the currency in which the prices are given.
pub type Micros = u64;

/// The limits of an organization. `None`: unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetLimits {
    pub requests_per_day: Option<u64>,
    pub tokens_per_month: Option<u64>,
    pub cost_per_month: Option<Micros>,
}

/// The price of a model, per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    pub input: Micros,
    pub output: Micros,
}

impl Prices {
    /// Returns the cost of a request, rounded up. It never overflows: an absurd number of tokens costs the maximum.
    pub fn cost(self, input_tokens: u64, output_tokens: u64) -> Micros {
        const TOKENS_PER_PRICE: u128 = 1_000_000;
        let input = u128::from(self.input) * u128::from(input_tokens);
        let total = input.saturating_add(u128::from(self.output) * u128::from(output_tokens));
        Micros::try_from(total.div_ceil(TOKENS_PER_PRICE)).unwrap_or(Micros::MAX)
    }
}

/// What a request uses, or may use at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub requests: u64,
    pub tokens: u64,
    pub cost: Micros,
}

impl Amount {
    /// Returns the most that a request can use. A token has at least one byte, so a prompt has at most as many tokens
    /// as bytes; what a provider adds around the prompt is covered by `PROVIDER_TOKENS`. Each attempt may be charged.
    pub fn upper_bound(prompt_bytes: u64, max_output_tokens: u64, attempts: u64, prices: Prices) -> Self {
        /// Names of roles, separators, and the provider's own text about the schema.
        const PROVIDER_TOKENS: u64 = 1_000;
        let input = prompt_bytes.saturating_add(PROVIDER_TOKENS).saturating_mul(attempts);
        let output = max_output_tokens.saturating_mul(attempts);
        Self { requests: 1, tokens: input.saturating_add(output), cost: prices.cost(input, output) }
    }
}

/// What counts toward the limits now: what was used, and what is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetState {
    /// The day of `requests`.
    pub day: Date,
    pub requests: u64,
    /// The first day of the month of `tokens` and `cost`.
    pub month: Date,
    pub tokens: u64,
    pub cost: Micros,
}

/// A part of the budget that a request has reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub day: Date,
    pub month: Date,
    pub amount: Amount,
}

/// The limits, in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Budget {
    Requests,
    Tokens,
    Cost,
}

text_enum!(Budget { Requests = "requests", Tokens = "tokens", Cost = "cost" });

/// The request would exceed a limit, and must not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget for {which} is exhausted")]
pub struct Exhausted {
    pub which: Budget,
    /// When the limit is available again. `None`: the limit is too small for this request even if nothing was used.
    pub resets_at: Option<Timestamp>,
}

impl BudgetState {
    /// Returns the state of an organization that has used nothing.
    pub fn new(now: Timestamp) -> Self {
        let day = now.to_zoned(TimeZone::UTC).date();
        Self { day, requests: 0, month: day.first_of_month(), tokens: 0, cost: 0 }
    }

    /// Returns the state at `now`: a new day and a new month start with nothing. A clock that was set back does not
    /// reset anything.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        let fresh = Self::new(now);
        let mut state = self;
        if fresh.day > self.day {
            (state.day, state.requests) = (fresh.day, 0);
        }
        if fresh.month > self.month {
            (state.month, state.tokens, state.cost) = (fresh.month, 0, 0);
        }
        state
    }
}

/// Reserves the upper bound of a request. Returns the new state with the reservation.
pub fn reserve(
    state: BudgetState,
    limits: &BudgetLimits,
    estimate: Amount,
    now: Timestamp,
) -> Result<(BudgetState, Reservation), Exhausted> {
    let mut state = state.at(now);
    let next_day = || midnight(state.day.tomorrow().ok());
    let next_month = || midnight(state.month.checked_add(1.month()).ok());
    check(Budget::Requests, limits.requests_per_day, state.requests, estimate.requests, next_day)?;
    check(Budget::Tokens, limits.tokens_per_month, state.tokens, estimate.tokens, next_month)?;
    check(Budget::Cost, limits.cost_per_month, state.cost, estimate.cost, next_month)?;
    state.requests = state.requests.saturating_add(estimate.requests);
    state.tokens = state.tokens.saturating_add(estimate.tokens);
    state.cost = state.cost.saturating_add(estimate.cost);
    Ok((state, Reservation { day: state.day, month: state.month, amount: estimate }))
}

/// Replaces a reservation by what was used. Settling with [`Amount::default`] releases it.
///
/// What was reserved in an earlier day or month counts for that one, and no longer matters. More than was reserved
/// counts as well: a provider's report is believed if it is higher.
pub fn settle(state: BudgetState, reservation: Reservation, used: Amount, now: Timestamp) -> BudgetState {
    let mut state = state.at(now);
    let replace =
        |counted: u64, reserved: u64, used: u64| counted.saturating_sub(reserved).saturating_add(used);
    if state.day == reservation.day {
        state.requests = replace(state.requests, reservation.amount.requests, used.requests);
    }
    if state.month == reservation.month {
        state.tokens = replace(state.tokens, reservation.amount.tokens, used.tokens);
        state.cost = replace(state.cost, reservation.amount.cost, used.cost);
    }
    state
}

fn check(
    which: Budget,
    limit: Option<u64>,
    counted: u64,
    more: u64,
    next: impl Fn() -> Option<Timestamp>,
) -> Result<(), Exhausted> {
    let Some(limit) = limit else { return Ok(()) };
    if counted.saturating_add(more) <= limit {
        return Ok(());
    }
    Err(Exhausted { which, resets_at: if more > limit { None } else { next() } })
}

fn midnight(date: Option<Date>) -> Option<Timestamp> {
    Some(date?.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
