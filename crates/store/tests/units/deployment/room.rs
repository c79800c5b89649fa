//! The statuses that count for `concurrency` are those of the domain.

use greenroom_domain::deployment::{DeploymentStatus, is_at_work};

#[test]
fn the_statuses_that_count_are_those_of_the_domain() {
    let at_work = DeploymentStatus::ALL
        .iter()
        .filter(|status| is_at_work(**status))
        .map(|status| format!("'{status}'"));
    let list = format!("status in ({})", at_work.collect::<Vec<_>>().join(", "));
    let files = [
        include_str!("../../../src/deployment/room.rs"),
        include_str!("../../../src/deployment/record.rs"),
        include_str!("../../../src/system/watchdog.rs"),
    ];
    assert!(files.iter().all(|text| text.contains(&list)), "{list}");
}
