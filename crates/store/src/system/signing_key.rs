//! The keys that sign id tokens, for the whole installation. This crate can't open them.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::SigningKeyId;
use greenroom_domain::id_token::SealedSigningKey;
use jiff::Timestamp;

use crate::{Store, StoreError};

/// The keys that are published at one moment, by the database's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedKeys {
    /// In the order in which they sign.
    pub keys: Vec<PublishedKey>,
    pub read_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedKey {
    pub key: SealedSigningKey,
    pub use_from: Timestamp,
    /// `None` while it has no successor.
    pub publish_until: Option<Timestamp>,
}

impl PublishedKeys {
    /// Returns the key that signs at a moment: the one whose use began last.
    pub fn signing_at(&self, at: Timestamp) -> Option<&PublishedKey> {
        self.keys.iter().rev().find(|key| key.use_from <= at)
    }

    /// Returns the key without a successor.
    pub fn newest(&self) -> Option<&PublishedKey> {
        self.keys.iter().find(|key| key.publish_until.is_none())
    }
}

#[boxed_futures]
impl Store {
    pub async fn published_signing_keys(&self) -> Result<PublishedKeys, StoreError> {
        let rows = sqlx::query!(
            r#"select id, master_key, sealed, public, use_from, publish_until
               from signing_keys where publish_until is null or publish_until > clock_timestamp()
               order by use_from, id"#
        )
        .fetch_all(&self.pool())
        .await?;
        let now =
            sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(&self.pool()).await?;
        let keys = rows.into_iter().map(|row| {
            let unreadable = |error: serde_json::Error| StoreError::Unreadable {
                column: "signing_keys.public",
                value: error.to_string(),
            };
            let public = serde_json::from_value(row.public).map_err(unreadable)?;
            let key = SealedSigningKey {
                id: row.id.into(),
                master_key: row.master_key,
                sealed: row.sealed,
                public,
            };
            let publish_until = row.publish_until.map(jiff_sqlx::Timestamp::to_jiff);
            Ok(PublishedKey { key, use_from: row.use_from.to_jiff(), publish_until })
        });
        Ok(PublishedKeys { keys: keys.collect::<Result<_, StoreError>>()?, read_at: now.to_jiff() })
    }

    /// Adds the installation's first signing key, unless there is one by now. It signs immediately: no relying
    /// party can have cached a list of keys without it.
    pub async fn add_first_signing_key(&self, key: &SealedSigningKey) -> Result<(), StoreError> {
        sqlx::query!(
            "insert into signing_keys (id, master_key, sealed, public, use_from)
             select $1, $2, $3, $4, clock_timestamp() where not exists (select from signing_keys)
             on conflict do nothing",
            key.id.uuid(),
            key.master_key,
            key.sealed,
            public(key),
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// Adds the successor of a key. It signs after `publish_before`; the former key is published for
    /// `publish_after` from then on. Returns `false` if the former key has a successor already. Keys that are
    /// not published any more are deleted.
    pub async fn add_next_signing_key(
        &self,
        former: SigningKeyId,
        next: &SealedSigningKey,
        publish_before: Duration,
        publish_after: Duration,
    ) -> Result<bool, StoreError> {
        let added = sqlx::query!(
            "with expired as (
                 delete from signing_keys where publish_until < clock_timestamp()
             ),
             former as (
                 update signing_keys set publish_until = clock_timestamp() + make_interval(secs => $7)
                 where id = $1 and publish_until is null returning id
             )
             insert into signing_keys (id, master_key, sealed, public, use_from)
             select $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6) from former",
            former.uuid(),
            next.id.uuid(),
            next.master_key,
            next.sealed,
            public(next),
            publish_before.as_secs_f64(),
            (publish_before + publish_after).as_secs_f64(),
        )
        .execute(&self.pool())
        .await?;
        Ok(added.rows_affected() == 1)
    }

    /// Replaces the sealing of a key. Returns `false` if another process has replaced it in the meantime.
    pub async fn rewrap_signing_key(
        &self,
        before: &SealedSigningKey,
        after: &SealedSigningKey,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "update signing_keys set master_key = $3, sealed = $4 where id = $1 and sealed = $2",
            before.id.uuid(),
            before.sealed,
            after.master_key,
            after.sealed,
        )
        .execute(&self.pool())
        .await?;
        Ok(done.rows_affected() == 1)
    }
}

fn public(key: &SealedSigningKey) -> serde_json::Value {
    let public = &key.public;
    serde_json::json!({ "n": public.modulus, "e": public.exponent })
}
