//! The link with which the first owner creates the first organization. It is in the row of the installation, and every
//! transaction that creates an organization updates that row first, so that they are serialized.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::token::TokenHash;
use jiff::Timestamp;

use crate::system::bootstrap::{NewOrganization, insert_organization};
use crate::system::sign_in::SignInTransaction;
use crate::{Store, StoreError};

/// Why a link can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableLink {
    /// An organization exists already.
    AlreadySetUp,
    /// It has expired, was replaced, or never existed.
    Invalid,
}

#[boxed_futures]
impl Store {
    /// Creates the link and voids the one before. Returns when it expires; `None` if an organization exists.
    pub async fn create_setup_link(&self, secret: &TokenHash) -> Result<Option<Timestamp>, StoreError> {
        let expires_at = sqlx::query_scalar!(
            r#"update installation set setup_secret_hash = $1,
                   setup_expires_at = clock_timestamp() + interval '15 minutes'
               where not exists (select 1 from organizations) returning setup_expires_at as "expires_at!""#,
            secret.as_slice(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(expires_at.map(|expires_at| expires_at.to_jiff()))
    }

    /// Uses the link: creates the organization, and returns the transaction in which its owner signs in. If that
    /// is not committed, the link can still be used.
    pub async fn set_up(
        &self,
        secret: &TokenHash,
        organization: &NewOrganization<'_>,
        request_id: &str,
    ) -> Result<Result<SignInTransaction, UnusableLink>, StoreError> {
        let mut transaction = self.pool().begin().await?;
        let used = sqlx::query!(
            "update installation set setup_secret_hash = null, setup_expires_at = null
             where setup_secret_hash = $1 and setup_expires_at > clock_timestamp()",
            secret.as_slice(),
        )
        .execute(&mut *transaction)
        .await?;
        // A second statement, with a new snapshot: it has to see what was committed while the first one waited for the row lock.
        let is_set_up = sqlx::query_scalar!(r#"select exists (select 1 from organizations) as "is_set_up!""#)
            .fetch_one(&mut *transaction)
            .await?;
        if is_set_up {
            return Ok(Err(UnusableLink::AlreadySetUp));
        }
        if used.rows_affected() == 0 {
            return Ok(Err(UnusableLink::Invalid));
        }
        let user = insert_organization(&mut transaction, organization).await?;
        let transaction = SignInTransaction::lock(transaction, user, request_id).await?;
        Ok(transaction.ok_or(UnusableLink::Invalid))
    }
}
