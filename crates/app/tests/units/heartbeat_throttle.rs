//! Which heartbeats were forwarded recently.

use std::time::Duration;

use greenroom_app::job::heartbeat_throttle::HeartbeatThrottle;
use uuid::Uuid;

#[tokio::test]
async fn a_heartbeat_is_recent_until_the_interval_has_passed() {
    // A very long and a very short interval, so that neither result depends on how busy the machine is.
    let long = HeartbeatThrottle::with_interval(Duration::from_secs(3_600));
    let short = HeartbeatThrottle::with_interval(Duration::from_millis(1));
    let job = Uuid::from_u128(1).into();
    assert!(!long.is_recent(job));
    long.record(job).await;
    assert!(long.is_recent(job));
    short.record(job).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!short.is_recent(job));
}
