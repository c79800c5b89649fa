//! Exponential back-off.

use std::time::Duration;

const INITIAL_DELAY: Duration = Duration::from_secs(1);
pub const MAX_DELAY: Duration = Duration::from_secs(60);

/// Returns the delay after a number of consecutive failures: 1, 2, 4 … seconds, at most a minute.
pub fn delay_after(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => INITIAL_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_DELAY),
    }
}
