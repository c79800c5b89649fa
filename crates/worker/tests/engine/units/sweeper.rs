//! The delays of environments that can't be swept.

use greenroom_domain::id::EnvironmentId;
use greenroom_store::system::sweeper::DueEnvironment;
use greenroom_worker::sweeper::{Backoff, INITIAL_DELAY};
use tokio::time::Instant;

#[test]
fn the_delay_of_a_failing_environment_grows() {
    let (mut backoff, mut now) = (Backoff::default(), Instant::now());
    let failing = EnvironmentId::from(uuid::Uuid::from_u128(1));
    let mut lengths = Vec::new();
    for _ in 0..8 {
        let length = backoff.fail(failing, now);
        lengths.push(length.as_secs());
        assert_eq!(backoff.delayed(now), [failing]);
        now += length;
        assert!(backoff.delayed(now).is_empty(), "the retry is due");
    }
    assert_eq!(lengths, [1, 2, 4, 8, 16, 32, 60, 60]);
    let organization_id = uuid::Uuid::from_u128(2).into();
    backoff.record(DueEnvironment { organization_id, environment_id: failing }, &Ok(()));
    assert_eq!(backoff.fail(failing, now), INITIAL_DELAY, "a success resets the delay");
}
