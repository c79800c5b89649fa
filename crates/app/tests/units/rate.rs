//! Rates with bursts.

use std::net::IpAddr;
use std::num::NonZeroU32;

use greenroom_app::internals::{MAX_ADDRESSES, Rate};
use greenroom_app::limits::Party;

#[test]
fn a_burst_and_no_more() {
    let rate = Rate::new("rate", 2, 5);
    let (one, other) = (Party::Token(uuid::Uuid::from_u128(1)), Party::Token(uuid::Uuid::from_u128(2)));
    assert_eq!((0..20).filter(|_| rate.check(one).is_ok()).count(), 5);
    assert!(rate.check(other).is_ok());
    assert!((0..1_000).all(|_| Rate::new("rate", 0, 0).check(one).is_ok()));
}

#[test]
fn units_are_counted_together_or_not_at_all() {
    let rate = Rate::new("search_kib", 1, 10);
    let party = Party::Organization(uuid::Uuid::from_u128(1));
    let units = |number| NonZeroU32::new(number).unwrap();
    assert!(rate.check_units(party, units(7)).is_ok());
    assert!(rate.check_units(party, units(7)).is_err());
    assert!(rate.check_units(party, units(3)).is_ok());
    assert!(rate.check_units(party, units(1)).is_err());
    assert!(rate.check_units(party, units(11)).is_err());
}

#[test]
fn the_table_of_addresses_is_bounded() {
    let rate = Rate::new("rate", 1, 1);
    for number in 0..2 * MAX_ADDRESSES {
        let address = IpAddr::from((number as u128).to_be_bytes());
        let _ = rate.check(Party::Address(address));
    }
    assert!(rate.entry_count().unwrap() <= MAX_ADDRESSES + 1);
}
