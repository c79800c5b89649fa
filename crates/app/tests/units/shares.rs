//! Each party's share of a scarce resource.

use std::time::Duration;

use greenroom_app::internals::Shares;
use greenroom_app::limits::Party;
use uuid::Uuid;

#[tokio::test]
async fn a_party_waits_for_its_share_and_leaves_no_entry() {
    let shares = Shares::new(2);
    let (one, other) = (Party::Token(Uuid::from_u128(1)), Party::Token(Uuid::from_u128(2)));
    let whole = shares.acquire(one, 100).await;
    assert!(shares.try_acquire(one).is_none());
    assert!(shares.try_acquire(other).is_some());
    let given_up = tokio::time::timeout(Duration::from_millis(10), shares.acquire(one, 1)).await;
    assert!(given_up.is_err());
    drop(whole);
    let part = shares.try_acquire(one).unwrap();
    let rest = shares.acquire(one, 1).await;
    drop((part, rest));
    assert_eq!(shares.entry_count(), 0);
    assert!(Shares::new(0).try_acquire(one).is_some());
}
