//! Requests, or other units, per second, with bursts, for each party.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::limits::{Exceeded, Party, PartyLimit};

/// The tokens and organizations are bounded by the database, but a client can use any number of addresses.
pub const MAX_ADDRESSES: usize = 100_000;

pub struct Rate {
    what: &'static str,
    per_second: u32,
    /// `None` if the limit is off.
    limiter: Option<DefaultKeyedRateLimiter<Party>>,
}

impl Rate {
    /// A rate of 0 is off.
    pub fn new(what: &'static str, per_second: u32, burst: u32) -> Self {
        let limiter = NonZeroU32::new(per_second).map(|rate| {
            let burst = NonZeroU32::new(burst).unwrap_or(rate).max(rate);
            RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst))
        });
        Self { what, per_second, limiter }
    }

    /// Counts one request, or fails if the rate is exceeded.
    pub fn check(&self, party: Party) -> Result<(), Exceeded> {
        self.check_units(party, NonZeroU32::MIN)
    }

    /// Counts this many units, or none of them if the rate is exceeded.
    pub fn check_units(&self, party: Party, units: NonZeroU32) -> Result<(), Exceeded> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        let party = match party {
            Party::Address(_) if limiter.len() >= MAX_ADDRESSES => Party::OtherAddresses,
            party => party,
        };
        let exceeded = |wait| Exceeded::rate(self.what, PartyLimit { party, limit: self.per_second }, wait);
        match limiter.check_key_n(&party, units) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(not_until)) => Err(exceeded(not_until.wait_time_from(limiter.clock().now()))),
            // More units than a burst has, which no wait makes possible.
            Err(_) => Err(exceeded(Duration::from_secs(1))),
        }
    }

    /// Returns how many parties have a state; `None` if the limit is off.
    pub fn entry_count(&self) -> Option<usize> {
        self.limiter.as_ref().map(RateLimiter::len)
    }

    /// Removes the parties whose state equals that of a new party.
    pub fn forget_idle(&self) {
        if let Some(limiter) = &self.limiter {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
    }
}

impl std::fmt::Debug for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rate").field("what", &self.what).field("per_second", &self.per_second).finish()
    }
}
