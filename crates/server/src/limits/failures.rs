//! Failed authentications, per address. A token with a right checksum costs a look into the database, so after too many
//! failures tokens that this server does not know are refused for a while without one. Tokens that were valid a while ago
//! do not come here: whoever shares an address with an attacker stays in.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use greenroom_domain::token::TokenHash;
use uuid::Uuid;

use crate::app::failure::Failure;
use crate::limits::rate::Rate;
use crate::limits::shares::{Share, Shares};
use crate::limits::{Exceeded, Party};

/// How long unknown tokens of an address are refused after too many failures.
const REFUSED_FOR: Duration = Duration::from_secs(1);
/// Unknown tokens of one address that are looked up at once; more wait for those before them.
const LOOK_UPS: usize = 32;
const MAX_ADDRESSES: usize = 100_000;

#[derive(Debug)]
pub struct Failures {
    per_second: u32,
    rate: Rate,
    /// Of tokens that were valid before, each for itself.
    revoked: Rate,
    look_ups: Shares,
    refused_until: Mutex<HashMap<IpAddr, Instant>>,
}

impl Failures {
    pub fn new(per_second: u32) -> Self {
        let look_ups = Shares::new(if per_second == 0 { 0 } else { LOOK_UPS });
        // Twice as many at once: a person with several programs that all have an expired token is no attacker.
        let rate = || Rate::new("failures", per_second, per_second.saturating_mul(2));
        Self { per_second, rate: rate(), revoked: rate(), look_ups, refused_until: Mutex::default() }
    }

    /// Before an unknown token is looked up. Whoever waits here has cost nothing yet.
    pub async fn before_look_up(&self, address: IpAddr) -> Result<Share, Failure> {
        self.check(address)?;
        let turn = self.look_ups.acquire(Party::Address(address), 1).await;
        self.check(address)?;
        Ok(turn)
    }

    /// After a look-up that found nothing.
    pub fn failed(&self, address: IpAddr) {
        if self.rate.check(Party::Address(address)).is_err() {
            let mut refused = self.refused();
            if refused.len() < MAX_ADDRESSES || refused.contains_key(&address) {
                refused.insert(address, Instant::now() + REFUSED_FOR);
            }
        }
    }

    /// After a token that was valid before was found to be so no longer: whether from now on it is like any other that is
    /// not valid. A few tries are its user's, who has not noticed yet.
    pub fn failed_again(&self, hash: &TokenHash) -> bool {
        let mut id = [0; 16];
        id.copy_from_slice(&hash[..16]);
        self.revoked.check(Party::Token(Uuid::from_bytes(id))).is_err()
    }

    fn check(&self, address: IpAddr) -> Result<(), Failure> {
        let until = self.refused().get(&address).copied();
        match until.map(|until| until.saturating_duration_since(Instant::now())) {
            Some(wait) if !wait.is_zero() => {
                let exceeded = Exceeded::rate("failures", (Party::Address(address), self.per_second), wait);
                Err(exceeded.failure())
            }
            _ => Ok(()),
        }
    }

    pub fn forget_idle(&self) {
        self.rate.forget_idle();
        self.revoked.forget_idle();
        let now = Instant::now();
        let mut refused = self.refused();
        refused.retain(|_, until| *until > now);
        refused.shrink_to_fit();
    }

    fn refused(&self) -> MutexGuard<'_, HashMap<IpAddr, Instant>> {
        self.refused_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
