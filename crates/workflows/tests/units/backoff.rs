//! Exponential back-off.

use greenroom_workflows::internals::{MAX_DELAY, delay_after};

#[test]
fn grows_to_a_minute_and_stays_there() {
    let seconds: Vec<u64> = (0..9).map(|failures| delay_after(failures).as_secs()).collect();
    assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(delay_after(u32::MAX), MAX_DELAY);
}
