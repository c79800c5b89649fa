//! The lock and its queue, tried exhaustively: every order of what three clients can do with two environments, with
//! leases that run out, take-over by force, waiters that fall silent and clients that crash and forget.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod clients;
mod places;

use stateright::{Checker, Model};

use clients::Clients;

/// Everything two clients can do with one environment over a long time.
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

/// Two clients who ask each other to let go.
#[test]
fn two_clients_hand_over() {
    check(
        Clients { clients: 2, environments: 1, sessions_each: 2, ticks: 2, handover: true, demotion: false },
        5_000,
    );
}

/// Three clients, so that somebody else may be first in the queue.
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

fn check(model: Clients, at_least: usize) {
    let checker = model.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.is_done(), "the search was cut short");
    assert!(checker.unique_state_count() > at_least, "only {} states", checker.unique_state_count());
}
