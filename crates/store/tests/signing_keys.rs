//! The keys that sign id tokens: the first one, and rotation.

use std::time::Duration;

use greenroom_domain::id_token::{PublicKey, SealedSigningKey};
use greenroom_store::Store;
use uuid::Uuid;

const HOUR: Duration = Duration::from_secs(3_600);

fn key(number: u128) -> SealedSigningKey {
    SealedSigningKey {
        id: Uuid::from_u128(number).into(),
        master_key: "a".to_owned(),
        sealed: vec![1, 2, 3],
        public: PublicKey { modulus: format!("n{number}"), exponent: "AQAB".to_owned() },
    }
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_successor_is_published_before_it_signs(
    pool: sqlx::PgPool,
) -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::new(pool);
    assert!(store.published_signing_keys().await?.keys.is_empty());
    store.add_first_signing_key(&key(1)).await?;
    // A concurrent request has made one too: the first one counts.
    store.add_first_signing_key(&key(2)).await?;
    let first = store.published_signing_keys().await?;
    assert_eq!(first.keys.iter().map(|found| &found.key).collect::<Vec<_>>(), [&key(1)]);
    assert_eq!(first.signing_at(first.read_at).map(|found| &found.key), Some(&key(1)));

    assert!(store.add_next_signing_key(key(1).id, &key(3), HOUR, 24 * HOUR).await?);
    // Two servers rotate concurrently: one of them adds a key.
    assert!(!store.add_next_signing_key(key(1).id, &key(4), HOUR, 24 * HOUR).await?);
    let both = store.published_signing_keys().await?;
    assert_eq!(both.keys.iter().map(|found| &found.key).collect::<Vec<_>>(), [&key(1), &key(3)]);
    assert_eq!(both.newest().map(|found| &found.key), Some(&key(3)));
    let at = |hours: i64| both.read_at + jiff::SignedDuration::from_hours(hours);
    assert_eq!(both.signing_at(at(0)).map(|found| found.key.id), Some(key(1).id));
    assert_eq!(both.signing_at(at(1)).map(|found| found.key.id), Some(key(3).id));
    let until = both.keys[0].publish_until.unwrap();
    assert!(until > at(24) && until <= at(25), "{until}");
    Ok(())
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_expired_key_is_neither_published_nor_kept(
    pool: sqlx::PgPool,
) -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::new(pool.clone());
    store.add_first_signing_key(&key(1)).await?;
    let soon = Duration::from_millis(1);
    assert!(store.add_next_signing_key(key(1).id, &key(2), soon, soon).await?);
    tokio::time::sleep(Duration::from_millis(10)).await;
    let left = store.published_signing_keys().await?;
    assert_eq!(left.keys.iter().map(|found| &found.key).collect::<Vec<_>>(), [&key(2)]);
    assert!(store.add_next_signing_key(key(2).id, &key(3), HOUR, HOUR).await?);
    let rows: i64 = sqlx::query_scalar("select count(*) from signing_keys").fetch_one(&pool).await?;
    assert_eq!(rows, 2);

    let resealed = SealedSigningKey { master_key: "b".to_owned(), sealed: vec![4], ..key(2) };
    assert!(store.rewrap_signing_key(&key(2), &resealed).await?);
    assert!(!store.rewrap_signing_key(&key(2), &resealed).await?);
    Ok(())
}
