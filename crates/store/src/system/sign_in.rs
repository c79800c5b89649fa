//! The transaction of a person who signs in or out, or changes how they sign in. It belongs to no organization.
//! Its events are recorded in every organization that the person's browser sessions reach.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::browser_session::SignInMethod;
use greenroom_domain::event::EventType;
use greenroom_domain::id::{BrowserSessionId, OrganizationId, UserId};
use greenroom_domain::token::TokenHash;
use serde_json::{Value, json};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::{Store, StoreError};

/// Holds the lock of the user's row: sign-ins, resets and new memberships of one person are serialized. Rolls
/// back when it is dropped without [`SignInTransaction::commit`].
pub struct SignInTransaction {
    transaction: Transaction<'static, Postgres>,
    pub user_id: UserId,
    pub email: String,
    /// The person has signed in before.
    pub has_signed_in: bool,
    /// The only organization that the person's browser sessions reach; `None`: all of theirs.
    pub enrolled_in: Option<OrganizationId>,
    request_id: String,
}

pub struct NewBrowserSession<'a> {
    pub id: BrowserSessionId,
    pub secret_hash: TokenHash,
    pub method: SignInMethod,
    pub user_agent: &'a str,
}

#[boxed_futures]
impl Store {
    /// Opens a transaction for a user and locks the user's row. Returns `None` if there is no such user.
    pub async fn sign_in_transaction(
        &self,
        user: UserId,
        request_id: &str,
    ) -> Result<Option<SignInTransaction>, StoreError> {
        SignInTransaction::lock(self.pool().begin().await?, user, request_id).await
    }
}

#[boxed_futures]
impl SignInTransaction {
    /// Locks the user's row. Returns `None` if there is no such user.
    pub(crate) async fn lock(
        mut transaction: Transaction<'static, Postgres>,
        user: UserId,
        request_id: &str,
    ) -> Result<Option<Self>, StoreError> {
        let row = sqlx::query!(
            r#"select email as "email!", signed_in_at is not null as "has_signed_in!", enrolled_in from users
               where id = $1 and kind = 'person' for no key update"#,
            user.uuid(),
        )
        .fetch_optional(&mut *transaction)
        .await?;
        Ok(row.map(|row| Self {
            transaction,
            user_id: user,
            email: row.email,
            has_signed_in: row.has_signed_in,
            enrolled_in: row.enrolled_in.map(OrganizationId::from),
            request_id: request_id.to_owned(),
        }))
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }

    /// Returns whether the person's browser sessions reach any organization.
    pub async fn reaches_an_organization(&mut self) -> Result<bool, StoreError> {
        let (user, enrolled_in) = (self.user_id.uuid(), self.enrolled_in.map(OrganizationId::uuid));
        Ok(sqlx::query_scalar!(
            r#"select exists (
                   select 1 from memberships
                   where user_id = $1 and removed_at is null and ($2::uuid is null or organization_id = $2)
               ) as "reaches!""#,
            user,
            enrolled_in,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Creates a browser session. A sign-in always gets a new one, so that a cookie that was planted before
    /// never becomes valid.
    pub async fn create_session(&mut self, new: &NewBrowserSession<'_>) -> Result<(), StoreError> {
        let user = self.user_id.uuid();
        sqlx::query!(
            "insert into browser_sessions (id, user_id, secret_hash, method, user_agent) values ($1, $2, $3, $4, $5)",
            new.id.uuid(),
            user,
            new.secret_hash.as_slice(),
            new.method.as_str(),
            new.user_agent,
        )
        .execute(self.connection())
        .await?;
        sqlx::query!(
            "update users set signed_in_at = clock_timestamp() where id = $1 and signed_in_at is null",
            user
        )
        .execute(self.connection())
        .await?;
        let after = json!({ "browserSessionId": new.id, "method": new.method });
        self.record_event(EventType::MemberSignedIn, after).await
    }

    /// Returns whether the person has this session, and it is valid.
    pub async fn has_session(&mut self, session: BrowserSessionId) -> Result<bool, StoreError> {
        let user = self.user_id.uuid();
        Ok(sqlx::query_scalar!(
            r#"select exists (select 1 from live_browser_sessions where user_id = $1 and id = $2) as "valid!""#,
            user,
            session.uuid(),
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Ends one valid session of the person, by its id. Returns whether there was one.
    pub async fn end_session(&mut self, session: BrowserSessionId) -> Result<bool, StoreError> {
        let user = self.user_id.uuid();
        let ended = sqlx::query!(
            "update browser_sessions set ended_at = clock_timestamp()
             where user_id = $1 and id = $2 and ended_at is null and expires_at > clock_timestamp()",
            user,
            session.uuid(),
        )
        .execute(self.connection())
        .await?;
        let has_ended = ended.rows_affected() > 0;
        if has_ended {
            let after = json!({ "browserSessionIds": [session] });
            self.record_event(EventType::MemberSignedOut, after).await?;
        }
        Ok(has_ended)
    }

    /// Ends all sessions of the person, except the given one. Returns those that have ended.
    pub async fn end_sessions(
        &mut self,
        except: Option<BrowserSessionId>,
    ) -> Result<Vec<BrowserSessionId>, StoreError> {
        let user = self.user_id.uuid();
        let ended = sqlx::query_scalar!(
            "update browser_sessions set ended_at = clock_timestamp()
             where user_id = $1 and id is distinct from $2 and ended_at is null and expires_at > clock_timestamp()
             returning id",
            user,
            except.map(BrowserSessionId::uuid),
        )
        .fetch_all(self.connection())
        .await?;
        let ended: Vec<BrowserSessionId> = ended.into_iter().map(BrowserSessionId::from).collect();
        if !ended.is_empty() {
            self.record_event(EventType::MemberSignedOut, json!({ "browserSessionIds": ended })).await?;
        }
        Ok(ended)
    }

    /// Records an event in every organization that the person's browser sessions reach.
    pub(crate) async fn record_event(
        &mut self,
        event_type: EventType,
        after: Value,
    ) -> Result<(), StoreError> {
        let (user, enrolled_in) = (self.user_id.uuid(), self.enrolled_in.map(OrganizationId::uuid));
        let context = json!({ "requestId": self.request_id });
        sqlx::query!(
            "insert into event_intake (organization_id, type, category, subject, actor_id, data)
             select m.organization_id, $3, $4, 'members/usr_' || m.user_id, m.user_id, jsonb_build_object(
                 'actor', jsonb_build_object('id', 'usr_' || m.user_id, 'name', m.name, 'kind', 'user', 'tokenId', null),
                 'context', $5::jsonb, 'before', null, 'after', $6::jsonb, 'reason', null)
             from memberships m
             where m.user_id = $1 and m.removed_at is null and ($2::uuid is null or m.organization_id = $2)
             order by m.organization_id",
            user,
            enrolled_in,
            event_type.as_str(),
            event_type.category().as_str(),
            context,
            after,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.transaction.commit().await?)
    }
}
