//! Concurrent computations are limited, also per organization.

use std::time::Duration;

use greenroom_domain::id::OrganizationId;
use greenroom_store::compute_limit::ComputeLimiter;
use uuid::Uuid;

#[tokio::test]
async fn an_organization_has_one_concurrent_computation() {
    static COMPUTE_LIMIT: ComputeLimiter = ComputeLimiter::new(2);
    let soon = |permit| tokio::time::timeout(Duration::from_millis(50), permit);
    let [one, two, three] = [1, 2, 3].map(|n| OrganizationId::from(Uuid::from_u128(n)));
    let first = COMPUTE_LIMIT.acquire(one).await;
    assert!(soon(COMPUTE_LIMIT.acquire(one)).await.is_err(), "the organization already has a permit");
    let second = soon(COMPUTE_LIMIT.acquire(two)).await.expect("a permit for another organization");
    assert!(soon(COMPUTE_LIMIT.acquire(three)).await.is_err(), "all permits are taken");
    drop((first, second));
    assert!(soon(COMPUTE_LIMIT.acquire(one)).await.is_ok());
    assert_eq!(COMPUTE_LIMIT.organization_count(), 1, "unused entries are removed");
}
