//! How server and worker in one process divide the database connections.

use greenroom_server::daemon::ConnectionBudget;

#[test]
fn both_parts_get_connections_and_together_not_more_than_the_setting() {
    for (connections, max_advances, requests, advances) in [
        (16, 8, 12, 4),
        (64, 8, 56, 8),
        (8, 8, 6, 2),
        (4, 8, 3, 1),
        (2, 8, 1, 1),
        (16, 1, 15, 1),
        (16, 0, 15, 1),
    ] {
        let budget = ConnectionBudget::divide(connections, max_advances);
        assert_eq!(budget, ConnectionBudget { requests, advances }, "{connections}, {max_advances}");
    }
    // Each part needs one.
    assert_eq!(ConnectionBudget::divide(1, 8), ConnectionBudget { requests: 1, advances: 1 });
}
