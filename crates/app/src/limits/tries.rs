//! Failed sign-ins: per account and address, per account, and per address. An attempt counts before its
//! password is verified, so that concurrent attempts can't exceed the limit, and is forgotten if it succeeds.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::limits::Exceeded;

pub const WINDOW: Duration = Duration::from_secs(15 * 60);
/// For one account from one address.
const MAX_PER_PAIR: u32 = 10;
/// For one account from all addresses together, and for one address with all accounts. Larger, so that a
/// stranger can't lock a person out with a few requests, and people behind one address do not lock each other
/// out.
const MAX_PER_PARTY: u32 = 50;
/// The table is bounded. When it is full, further keys share one entry.
pub const MAX_ENTRIES: usize = 100_000;

/// A hash of the e-mail address: attempts with addresses of any length use the same memory.
pub type Account = [u8; 32];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Pair(Account, IpAddr),
    Account(Account),
    Address(IpAddr),
    Others,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    began: Instant,
    tries: u32,
}

#[derive(Debug, Default)]
pub struct Tries {
    /// `false` if the limits are off.
    is_limited: bool,
    entries: Mutex<HashMap<Key, Entry>>,
}

impl Tries {
    pub fn new(is_limited: bool) -> Self {
        Self { is_limited, entries: Mutex::default() }
    }

    /// Counts an attempt, or fails without counting it if there were too many.
    pub fn begin(&self, account: Account, address: IpAddr) -> Result<(), Failure> {
        self.begin_at(account, address, Instant::now()).map_err(Failure::from)
    }

    pub fn begin_at(&self, account: Account, address: IpAddr, now: Instant) -> Result<(), Exceeded> {
        if !self.is_limited {
            return Ok(());
        }
        let mut entries = self.entries();
        let keys = keys(account, address).map(|(key, limit)| {
            let fits = entries.contains_key(&key) || entries.len() + 3 <= MAX_ENTRIES;
            (if fits { key } else { Key::Others }, limit)
        });
        for (key, limit) in keys {
            if let Some(entry) = entries.get(&key).filter(|entry| entry.tries >= limit) {
                let wait = WINDOW.saturating_sub(now.saturating_duration_since(entry.began));
                if !wait.is_zero() {
                    return Err(Exceeded::sign_ins(limit, wait));
                }
            }
        }
        for (key, _) in keys {
            let entry = entries.entry(key).or_insert(Entry { began: now, tries: 0 });
            if now.saturating_duration_since(entry.began) >= WINDOW {
                *entry = Entry { began: now, tries: 0 };
            }
            entry.tries += 1;
        }
        Ok(())
    }

    /// Forgets the attempts of an account from an address, because one of them has succeeded.
    pub fn succeeded(&self, account: Account, address: IpAddr) {
        let mut entries = self.entries();
        let failed = entries.remove(&Key::Pair(account, address)).map_or(0, |entry| entry.tries);
        for key in [Key::Account(account), Key::Address(address)] {
            if let Some(entry) = entries.get_mut(&key) {
                entry.tries = entry.tries.saturating_sub(failed);
            }
        }
    }

    pub fn forget_idle(&self) {
        let now = Instant::now();
        let mut entries = self.entries();
        entries.retain(|_, entry| now.saturating_duration_since(entry.began) < WINDOW);
        entries.shrink_to_fit();
    }

    pub fn entry_count(&self) -> usize {
        self.entries().len()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn keys(account: Account, address: IpAddr) -> [(Key, u32); 3] {
    [
        (Key::Pair(account, address), MAX_PER_PAIR),
        (Key::Account(account), MAX_PER_PARTY),
        (Key::Address(address), MAX_PER_PARTY),
    ]
}
