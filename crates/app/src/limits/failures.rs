//! Failed authentications, per address. A token with a valid checksum costs a database query, so after too
//! many failures unknown tokens are refused for a while without one. Tokens that this server has found valid
//! within the last hour, or invalid within the last minute, are not unknown and are not counted here
//! (`app/authentication.rs`): the former are served even if an attacker has the same address, and the latter
//! do not count again.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use greenroom_boxed_futures::boxed_futures;

use crate::failure::Failure;
use crate::limits::rate::Rate;
use crate::limits::shares::{Share, Shares};
use crate::limits::{Exceeded, Party, PartyLimit};

/// How long unknown tokens of an address are refused after too many failures.
const REFUSAL_DURATION: Duration = Duration::from_secs(1);
/// How many unknown tokens of one address are looked up concurrently; further ones wait.
const MAX_CONCURRENT_LOOK_UPS: usize = 32;
const MAX_ADDRESSES: usize = 100_000;

#[derive(Debug)]
pub struct Failures {
    per_second: u32,
    rate: Rate,
    look_ups: Shares,
    refused_until: Mutex<HashMap<IpAddr, Instant>>,
}

#[boxed_futures]
impl Failures {
    pub fn new(per_second: u32) -> Self {
        let look_ups = Shares::new(if per_second == 0 { 0 } else { MAX_CONCURRENT_LOOK_UPS });
        // The burst is twice the rate: several users at one address may each have several expired tokens.
        let rate = Rate::new("failures", per_second, per_second.saturating_mul(2));
        Self { per_second, rate, look_ups, refused_until: Mutex::default() }
    }

    /// Called before an unknown token is looked up. A request that waits here uses no database connection
    /// yet.
    pub async fn before_look_up(&self, address: IpAddr) -> Result<Share, Failure> {
        self.check(address)?;
        let turn = self.look_ups.acquire(Party::Address(address), 1).await;
        self.check(address)?;
        Ok(turn)
    }

    /// Called after a look-up has found an unknown token invalid.
    pub fn failed(&self, address: IpAddr) {
        if self.rate.check(Party::Address(address)).is_err() {
            let mut refused = self.refused();
            if refused.len() < MAX_ADDRESSES || refused.contains_key(&address) {
                refused.insert(address, Instant::now() + REFUSAL_DURATION);
            }
        }
    }

    fn check(&self, address: IpAddr) -> Result<(), Failure> {
        let until = self.refused().get(&address).copied();
        match until.map(|until| until.saturating_duration_since(Instant::now())) {
            Some(wait) if !wait.is_zero() => {
                let quota = PartyLimit { party: Party::Address(address), limit: self.per_second };
                let exceeded = Exceeded::rate("failures", quota, wait);
                Err(exceeded.into())
            }
            _ => Ok(()),
        }
    }

    pub fn forget_idle(&self) {
        self.rate.forget_idle();
        let now = Instant::now();
        let mut refused = self.refused();
        refused.retain(|_, until| *until > now);
        refused.shrink_to_fit();
    }

    fn refused(&self) -> MutexGuard<'_, HashMap<IpAddr, Instant>> {
        self.refused_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
