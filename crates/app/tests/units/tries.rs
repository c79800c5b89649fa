//! Limits of failed sign-ins.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use greenroom_app::internals::{MAX_ENTRIES, Tries, WINDOW};

fn address(number: u32) -> IpAddr {
    IpAddr::from(number.to_be_bytes())
}

#[test]
fn ten_attempts_within_the_window() {
    let (tries, now) = (Tries::new(true), Instant::now());
    let allowed = |account, address, at| tries.begin_at(account, address, at).is_ok();
    assert_eq!((0..30).filter(|_| allowed([1; 32], address(1), now)).count(), 10);
    assert!(allowed([1; 32], address(2), now), "another address");
    assert!(allowed([2; 32], address(1), now), "another account");
    assert!(!allowed([1; 32], address(1), now + WINDOW - Duration::from_secs(1)));
    assert!(allowed([1; 32], address(1), now + WINDOW));
}

#[test]
fn many_addresses_do_not_help() {
    let (tries, now) = (Tries::new(true), Instant::now());
    let allowed = (0..1_000).filter(|number| tries.begin_at([1; 32], address(*number), now).is_ok());
    assert_eq!(allowed.count(), 50);
}

#[test]
fn many_accounts_do_not_help() {
    let (tries, now) = (Tries::new(true), Instant::now());
    let allowed = (0..=255).filter(|number| tries.begin_at([*number; 32], address(1), now).is_ok());
    assert_eq!(allowed.count(), 50);
}

#[test]
fn a_success_is_not_a_failure() {
    let tries = Tries::new(true);
    for _ in 0..200 {
        tries.begin([1; 32], address(1)).unwrap();
        tries.succeeded([1; 32], address(1));
    }
}

#[test]
fn the_table_is_bounded() {
    let (tries, now) = (Tries::new(true), Instant::now());
    for number in 0..MAX_ENTRIES as u32 {
        let mut account = [0; 32];
        account[..4].copy_from_slice(&number.to_be_bytes());
        let _ = tries.begin_at(account, address(number), now);
    }
    assert!(tries.entry_count() <= MAX_ENTRIES + 1);
}
