//! Model checking. Of the lock and its queue: every order of the actions of three clients on two environments,
//! with expiring leases, take-over by force, waiters whose heartbeat times out, and clients that crash. Of approvals
//! (`approvals`): every order of votes, retries, changes, freezes and time. Of weekly freezes (`freezes`): every minute of
//! two years. They take optimized code, and are a run of their own (CONTRIBUTING.md, Tests).
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod approvals;
mod clients;
mod freezes;
mod places;

use stateright::{Checker, Model};

use clients::Clients;

/// All actions of two clients on one environment, for a long time.
#[test]
fn two_clients_one_environment() {
    check(
        Clients { clients: 2, environments: 1, sessions_each: 2, ticks: 4, handover: false, demotion: false },
        10_000,
    );
}

/// Three clients and two environments, for a shorter time.
#[test]
fn three_clients_two_environments() {
    check(
        Clients { clients: 3, environments: 2, sessions_each: 1, ticks: 3, handover: false, demotion: false },
        10_000,
    );
}

/// Two clients that request hand-overs from each other.
#[test]
fn two_clients_hand_over() {
    check(
        Clients { clients: 2, environments: 1, sessions_each: 2, ticks: 2, handover: true, demotion: false },
        5_000,
    );
}

/// Three clients, so that the requester of a hand-over may not be the first in the queue.
#[test]
fn three_clients_hand_over() {
    check(
        Clients { clients: 3, environments: 1, sessions_each: 1, ticks: 3, handover: true, demotion: false },
        5_000,
    );
}

/// Clients that lose the right to hold sessions while they hold and wait.
#[test]
fn three_clients_lose_their_rights() {
    check(
        Clients { clients: 3, environments: 1, sessions_each: 1, ticks: 2, handover: false, demotion: true },
        5_000,
    );
}

/// The right to force is lost while a request for hand-over is pending.
#[test]
fn two_clients_hand_over_and_lose_their_rights() {
    check(
        Clients { clients: 2, environments: 1, sessions_each: 2, ticks: 2, handover: true, demotion: true },
        5_000,
    );
}

fn check(model: Clients, min_states: usize) {
    let checker = model.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.is_done(), "the search is not complete");
    assert!(checker.unique_state_count() > min_states, "only {} states", checker.unique_state_count());
}
