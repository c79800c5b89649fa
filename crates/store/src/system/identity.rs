//! Identities at OpenID providers: which person a subject of an issuer is.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::EventType;
use greenroom_domain::id::UserId;
use greenroom_domain::text::Email;
use serde_json::json;

use crate::system::sign_in::SignInTransaction;
use crate::{Store, StoreError};

/// A person as a provider names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject<'a> {
    pub issuer: &'a str,
    pub subject: &'a str,
}

#[boxed_futures]
impl Store {
    /// Returns the person that a subject was linked with.
    pub async fn user_of_identity(&self, subject: Subject<'_>) -> Result<Option<UserId>, StoreError> {
        let user = sqlx::query_scalar!(
            "select user_id from identities where issuer = $1 and subject = $2",
            subject.issuer,
            subject.subject,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(user.map(UserId::from))
    }

    /// Returns the person with this e-mail address.
    pub async fn user_of_email(&self, email: &Email) -> Result<Option<UserId>, StoreError> {
        let user = sqlx::query_scalar!("select id from users where email_key = lower($1)", email.as_str())
            .fetch_optional(&self.pool())
            .await?;
        Ok(user.map(UserId::from))
    }
}

#[boxed_futures]
impl SignInTransaction {
    /// Returns whether the subject is linked with the person.
    pub async fn has_identity(&mut self, subject: Subject<'_>) -> Result<bool, StoreError> {
        let user = self.user_id.uuid();
        Ok(sqlx::query_scalar!(
            r#"select exists (
                   select 1 from identities where issuer = $1 and subject = $2 and user_id = $3
               ) as "linked!""#,
            subject.issuer,
            subject.subject,
            user,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Links a subject with the person. Returns `false` if the subject belongs to another person, or the person
    /// has another subject of this issuer: an e-mail address can be given to another person at the provider.
    pub async fn link_identity(&mut self, subject: Subject<'_>) -> Result<bool, StoreError> {
        let user = self.user_id.uuid();
        let linked = sqlx::query!(
            "insert into identities (issuer, subject, user_id)
             select $1, $2, $3 where not exists (select 1 from identities where issuer = $1 and user_id = $3)
             on conflict (issuer, subject) do nothing",
            subject.issuer,
            subject.subject,
            user,
        )
        .execute(self.connection())
        .await?;
        if linked.rows_affected() == 0 {
            return Ok(false);
        }
        self.record_event(EventType::MemberIdentityLinked, json!({ "issuer": subject.issuer })).await?;
        Ok(true)
    }
}
