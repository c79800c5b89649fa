//! Passwords of people, who may be members of several organizations.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::EventType;
use greenroom_domain::id::UserId;
use greenroom_domain::text::Email;
use serde_json::json;

use crate::system::sign_in::SignInTransaction;
use crate::{Store, StoreError};

/// A password as it is stored: its Argon2id hash, with what is needed to compute it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPassword {
    pub hash: Vec<u8>,
    pub salt: Vec<u8>,
    pub memory_kib: i32,
    pub iterations: i32,
}

#[boxed_futures]
impl Store {
    /// Returns the user with this address and their password; `None` if there is no such user or no password.
    pub async fn password_of_email(
        &self,
        email: &Email,
    ) -> Result<Option<(UserId, StoredPassword)>, StoreError> {
        let row = sqlx::query!(
            "select u.id, p.hash, p.salt, p.memory_kib, p.iterations from users u
             join passwords p on p.user_id = u.id where u.email_key = lower($1)",
            email.as_str(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| {
            let (memory_kib, iterations) = (row.memory_kib, row.iterations);
            (row.id.into(), StoredPassword { hash: row.hash, salt: row.salt, memory_kib, iterations })
        }))
    }

    pub async fn password_of(&self, user: UserId) -> Result<Option<StoredPassword>, StoreError> {
        Ok(sqlx::query_as!(
            StoredPassword,
            "select hash, salt, memory_kib, iterations from passwords where user_id = $1",
            user.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?)
    }
}

#[boxed_futures]
impl SignInTransaction {
    /// Like [`Store::password_of`], with the user's row locked: compare it with the password that was verified.
    pub async fn password(&mut self) -> Result<Option<StoredPassword>, StoreError> {
        let user = self.user_id.uuid();
        Ok(sqlx::query_as!(
            StoredPassword,
            "select hash, salt, memory_kib, iterations from passwords where user_id = $1",
            user,
        )
        .fetch_optional(self.connection())
        .await?)
    }

    /// Stores a new password, and voids a sign-in link that was not used.
    pub async fn set_password(&mut self, password: &StoredPassword) -> Result<(), StoreError> {
        let user = self.user_id.uuid();
        sqlx::query!(
            "insert into passwords (user_id, hash, salt, memory_kib, iterations) values ($1, $2, $3, $4, $5)
             on conflict (user_id) do update set hash = excluded.hash, salt = excluded.salt,
                 memory_kib = excluded.memory_kib, iterations = excluded.iterations, changed_at = clock_timestamp()",
            user,
            password.hash,
            password.salt,
            password.memory_kib,
            password.iterations,
        )
        .execute(self.connection())
        .await?;
        sqlx::query!("delete from sign_in_links where user_id = $1", user).execute(self.connection()).await?;
        self.record_event(EventType::MemberPasswordChanged, json!({})).await
    }

    /// Deletes the password: the person has to set a new one.
    pub(crate) async fn delete_password(&mut self) -> Result<(), StoreError> {
        let user = self.user_id.uuid();
        sqlx::query!("delete from passwords where user_id = $1", user).execute(self.connection()).await?;
        Ok(())
    }
}
