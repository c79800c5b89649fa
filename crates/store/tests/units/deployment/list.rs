//! Periods as ranges of ids.

use greenroom_store::internals::id_bounds;
use jiff::Timestamp;

#[test]
fn a_period_is_a_range_of_ids() {
    let day = jiff::SignedDuration::from_hours(24);
    let id = uuid::Uuid::parse_str("0190a0b0-0000-7000-8000-000000000001").unwrap();
    let made = Timestamp::from_millisecond(0x0190_a0b0_0000).unwrap();
    let contains = |from, to| {
        let (oldest, newest) = id_bounds(from, to);
        (oldest..=newest).contains(&id)
    };
    assert!(contains(None, None));
    assert!(contains(Some(made), None) && contains(None, Some(made)));
    assert!(contains(Some(made + day), Some(made - day)), "clocks may differ by a day");
    assert!(!contains(Some(made + day * 2), None) && !contains(None, Some(made - day * 2)));
    assert!(contains(Some(Timestamp::MIN), Some(Timestamp::MAX)));
    assert!(!contains(Some(Timestamp::MAX), None) && !contains(None, Some(Timestamp::MIN)));
}
