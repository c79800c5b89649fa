//! Exchanging tokens of CI systems for tokens of a service account. Whether a token is accepted is decided by
//! `domain/trust_policy`; what is here reads the policies, and makes the new token in one transaction.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, TokenId, TrustPolicyId, UserId};
use greenroom_domain::token::{Token, TokenHash, TokenSecret};
use greenroom_domain::token_grant::TokenGrant;
use greenroom_domain::trust_policy::{Issuer, TrustPolicy};
use jiff::Timestamp;

use crate::token::Row as TokenRow;
use crate::token_columns::{limit_ids, lineage, lineage_ids, scope_names};
use crate::transaction::{Actor, OrgTransaction};
use crate::trust_policy::Row as PolicyRow;
use crate::{Store, StoreError};

/// The account that a request names, and its policies for an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeAccount {
    pub organization_id: OrganizationId,
    pub id: UserId,
    pub name: String,
    pub policies: Vec<TrustPolicy>,
}

/// The earlier token that a new one continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActorToken {
    pub id: TokenId,
    pub lineage: Vec<TokenId>,
}

/// A token that is made by an exchange.
#[derive(Clone, Copy, Debug)]
pub struct NewExchangedToken<'a> {
    pub id: TokenId,
    pub account: UserId,
    pub account_name: &'a str,
    pub policy: TrustPolicyId,
    pub name: &'a str,
    pub secret: &'a TokenSecret,
    pub grant: &'a TokenGrant,
    pub actor: Option<&'a ActorToken>,
}

#[boxed_futures]
impl Store {
    /// Returns a service account with its policies for an issuer. `None` if there is no such account.
    pub async fn exchange_account(
        &self,
        organization: OrganizationId,
        account: UserId,
        issuer: &str,
    ) -> Result<Option<ExchangeAccount>, StoreError> {
        let name = sqlx::query_scalar!(
            "select name from memberships
             where organization_id = $1 and user_id = $2 and kind = 'service' and removed_at is null",
            organization.uuid(),
            account.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(name) = name else { return Ok(None) };
        let rows = sqlx::query_as!(
            PolicyRow,
            "select id, service_account_id, name, issuer, audience, claims, pipelines, ttl_seconds, created_at, created_by
             from trust_policies
             where organization_id = $1 and service_account_id = $2 and issuer = $3 and deleted_at is null
             order by id",
            organization.uuid(),
            account.uuid(),
            issuer,
        )
        .fetch_all(&self.pool())
        .await?;
        let policies = rows.into_iter().map(TrustPolicy::try_from).collect::<Result<_, _>>()?;
        Ok(Some(ExchangeAccount { organization_id: organization, id: account, name, policies }))
    }

    /// Opens the transaction of an exchange. Its events name the service account as their actor.
    pub async fn exchange_transaction(
        &self,
        account: &ExchangeAccount,
        request_id: &str,
    ) -> Result<OrgTransaction, StoreError> {
        let transaction = self.pool().begin().await?;
        let actor = Actor::Exchange {
            account: account.id,
            name: account.name.clone(),
            request_id: request_id.to_owned(),
        };
        Ok(OrgTransaction::new(transaction, account.organization_id, actor, self))
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Returns whether the account and the policy still exist. Neither can be deleted before this transaction ends, so
    /// that a deletion finds the token that it makes.
    pub async fn lock_trust(&mut self, account: UserId, policy: TrustPolicyId) -> Result<bool, StoreError> {
        let organization = self.organization();
        let found = sqlx::query_scalar!(
            "select p.id from memberships m
             join trust_policies p on p.organization_id = $1 and p.service_account_id = m.user_id
             where m.organization_id = $1 and m.user_id = $2 and m.kind = 'service' and m.removed_at is null
               and p.id = $3 and p.deleted_at is null
             for share",
            organization,
            account.uuid(),
            policy.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(found.is_some())
    }

    /// Records that a token of an issuer is exchanged. Returns false if it was exchanged before. A concurrent exchange of
    /// the same token waits here for the end of this transaction.
    pub async fn record_exchange(
        &mut self,
        issuer: &Issuer,
        replay_id: [u8; 32],
        keep_until: Timestamp,
    ) -> Result<bool, StoreError> {
        let organization = self.organization();
        let recorded = sqlx::query!(
            "insert into exchanged_tokens (organization_id, issuer, replay_id, keep_until) values ($1, $2, $3, $4)
             on conflict do nothing",
            organization,
            issuer.as_str(),
            replay_id.as_slice(),
            jiff_sqlx::Timestamp::from(keep_until) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?;
        Ok(recorded.rows_affected() == 1)
    }

    /// Returns a valid token of the account that was made by an exchange, and locks it, so that a concurrent revocation
    /// finds the token that continues it.
    pub async fn actor_token(
        &mut self,
        account: UserId,
        hash: &TokenHash,
    ) -> Result<Option<ActorToken>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            "select id, lineage from api_tokens
             where organization_id = $1 and user_id = $2 and secret_hash = $3 and trust_policy_id is not null
               and revoked_at is null and expires_at > clock_timestamp()
             for share",
            organization,
            account.uuid(),
            hash.as_slice(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(|row| ActorToken { id: row.id.into(), lineage: lineage(row.lineage) }))
    }

    /// Creates the token of an exchange. If it continues an earlier one, it takes over the places in queues that were
    /// taken with that one: they would be lost with its expiry.
    pub async fn create_exchanged_token(&mut self, new: NewExchangedToken<'_>) -> Result<Token, StoreError> {
        let organization = self.organization();
        let ancestors = new.actor.map(|actor| lineage_ids(&actor.lineage)).unwrap_or_default();
        let lineage = [ancestors, vec![new.id.uuid()]].concat();
        let hash = new.secret.hash();
        let row = sqlx::query_as!(
            TokenRow,
            r#"insert into api_tokens
                 (organization_id, id, user_id, name, kind, allow_force, secret_hash, hint, parent_id, expires_at,
                  scopes, pipelines, lineage, trust_policy_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12, $13, $14, $15)
             returning id, user_id, $11 as "user_name!", name, kind, allow_force, scopes, pipelines, max_sessions,
                       lineage, hint, created_at, expires_at, last_used_at, revoked_at"#,
            organization,
            new.id.uuid(),
            new.account.uuid(),
            new.name,
            new.grant.kind.as_str(),
            new.grant.allow_force,
            hash.as_slice(),
            new.secret.hint(),
            new.actor.map(|actor| actor.id.uuid()),
            new.grant.expires_at.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            new.account_name,
            &scope_names(new.grant.scopes),
            limit_ids(&new.grant.pipelines) as Option<Vec<uuid::Uuid>>,
            &lineage,
            new.policy.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        if let Some(actor) = new.actor {
            sqlx::query!(
                "update sessions set token_id = $4
                 where organization_id = $1 and user_id = $2 and waiting and token_id = $3",
                organization,
                new.account.uuid(),
                actor.id.uuid(),
                new.id.uuid(),
            )
            .execute(self.connection())
            .await?;
        }
        row.try_into()
    }
}
