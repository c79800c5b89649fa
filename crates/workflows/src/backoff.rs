//! Exponential back-off.

use std::time::Duration;

const INITIAL_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);

/// Returns the delay after a number of consecutive failures: 1, 2, 4 … seconds, at most a minute.
pub fn delay_after(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => INITIAL_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_DELAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_a_minute_and_stays_there() {
        let seconds: Vec<u64> = (0..9).map(|failures| delay_after(failures).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(delay_after(u32::MAX), MAX_DELAY);
    }
}
