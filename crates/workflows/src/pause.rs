//! How long to wait before trying again.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// After so many failures in a row: 1, 2, 4 … seconds, a minute at most.
pub fn after(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_a_minute_and_stays_there() {
        let seconds: Vec<u64> = (0..9).map(|failures| after(failures).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(after(u32::MAX), LONGEST);
    }
}
