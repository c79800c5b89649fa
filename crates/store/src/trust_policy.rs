//! Trust policies of service accounts. Exchanging tokens is in `token_exchange.rs`.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId, TokenId, TrustPolicyId, UserId};
use greenroom_domain::trust_policy::{Audience, ExchangedLifetime, ExpectedClaims, Issuer, TrustPolicy};
use serde_json::{Map, Value};

use crate::error::to_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

/// A policy that is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTrustPolicy {
    pub id: TrustPolicyId,
    pub service_account: UserId,
    pub name: String,
    pub issuer: Issuer,
    pub audience: Option<Audience>,
    pub claims: ExpectedClaims,
    pub pipelines: Vec<PipelineId>,
    pub lifetime: ExchangedLifetime,
}

pub(crate) struct Row {
    pub(crate) id: uuid::Uuid,
    pub(crate) service_account_id: uuid::Uuid,
    pub(crate) name: String,
    pub(crate) issuer: String,
    pub(crate) audience: Option<String>,
    pub(crate) claims: Value,
    pub(crate) pipelines: Vec<uuid::Uuid>,
    pub(crate) ttl_seconds: i32,
    pub(crate) created_at: jiff_sqlx::Timestamp,
    pub(crate) created_by: uuid::Uuid,
}

impl TryFrom<Row> for TrustPolicy {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let unreadable =
            |column, value: &dyn ToString| StoreError::Unreadable { column, value: value.to_string() };
        let claims = match row.claims {
            Value::Object(claims) => ExpectedClaims::from_stored(claims),
            other => return Err(unreadable("trust_policies.claims", &other)),
        };
        let issuer =
            Issuer::new(&row.issuer).map_err(|_| unreadable("trust_policies.issuer", &row.issuer))?;
        let audience = row
            .audience
            .as_deref()
            .map(|text| Audience::new(text).map_err(|_| unreadable("trust_policies.audience", &text)));
        let lifetime = ExchangedLifetime::from_seconds(row.ttl_seconds.into())
            .map_err(|_| unreadable("trust_policies.ttl_seconds", &row.ttl_seconds))?;
        Ok(Self {
            id: row.id.into(),
            service_account: row.service_account_id.into(),
            name: row.name,
            issuer,
            audience: audience.transpose()?,
            claims,
            pipelines: row.pipelines.into_iter().map(PipelineId::from).collect(),
            lifetime,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
        })
    }
}

#[boxed_futures]
impl Store {
    /// Returns the policies of a service account that are not deleted, ordered by name.
    pub async fn trust_policies(
        &self,
        organization: OrganizationId,
        account: UserId,
        page: Page,
    ) -> Result<PageResult<TrustPolicy>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from trust_policies
                   where organization_id = $1 and service_account_id = $2 and deleted_at is null limit $3
               ) counted"#,
            organization.uuid(),
            account.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            "select id, service_account_id, name, issuer, audience, claims, pipelines, ttl_seconds, created_at, created_by
             from trust_policies
             where organization_id = $1 and service_account_id = $2 and deleted_at is null
             order by lower(name) limit $3 offset $4",
            organization.uuid(),
            account.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(TrustPolicy::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }
}

#[boxed_futures]
impl Command {
    /// Returns how many policies a service account has. Call this after the account's row is locked.
    pub async fn count_trust_policies(&mut self, account: UserId) -> Result<i64, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "count!" from trust_policies
               where organization_id = $1 and service_account_id = $2 and deleted_at is null"#,
            organization,
            account.uuid(),
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Creates a policy. Violates `trust_policies_name` if the account has one of this name.
    pub async fn create_trust_policy(&mut self, new: &NewTrustPolicy) -> Result<TrustPolicy, StoreError> {
        let (organization, user) = (self.organization(), self.principal().user_id.uuid());
        let claims: Map<String, Value> =
            new.claims.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let pipelines: Vec<uuid::Uuid> = new.pipelines.iter().map(|id| id.uuid()).collect();
        let seconds: i32 = to_column("trust_policies.ttl_seconds", new.lifetime.seconds())?;
        let row = sqlx::query_as!(
            Row,
            "insert into trust_policies
                 (organization_id, id, service_account_id, name, issuer, audience, claims, pipelines, ttl_seconds, created_by)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             returning id, service_account_id, name, issuer, audience, claims, pipelines, ttl_seconds, created_at, created_by",
            organization,
            new.id.uuid(),
            new.service_account.uuid(),
            new.name,
            new.issuer.as_str(),
            new.audience.as_ref().map(Audience::as_str),
            Value::Object(claims),
            &pipelines,
            seconds,
            user,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Locks a policy, and waits for exchanges that use it. Returns `None` if the account has no such policy.
    pub async fn trust_policy_for_update(
        &mut self,
        account: UserId,
        id: TrustPolicyId,
    ) -> Result<Option<TrustPolicy>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, service_account_id, name, issuer, audience, claims, pipelines, ttl_seconds, created_at, created_by
             from trust_policies
             where organization_id = $1 and id = $2 and service_account_id = $3 and deleted_at is null
             for no key update",
            organization,
            id.uuid(),
            account.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(TrustPolicy::try_from).transpose()
    }

    /// Deletes a policy, and revokes the tokens that were made by it and those that continue them. Returns the tokens.
    pub async fn delete_trust_policy(&mut self, id: TrustPolicyId) -> Result<Vec<TokenId>, StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update trust_policies set deleted_at = clock_timestamp() where organization_id = $1 and id = $2",
            organization,
            id.uuid(),
        )
        .execute(self.connection())
        .await?;
        let revoked = sqlx::query_scalar!(
            "with recursive family as (
                 select id from api_tokens where organization_id = $1 and trust_policy_id = $2 and revoked_at is null
                 union
                 select t.id from api_tokens t join family f on t.parent_id = f.id where t.organization_id = $1
             )
             update api_tokens set revoked_at = clock_timestamp()
             where organization_id = $1 and id in (select id from family) and revoked_at is null
               and (expires_at is null or expires_at > clock_timestamp())
             returning id",
            organization,
            id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(revoked.into_iter().map(TokenId::from).collect())
    }

    /// Deletes all policies of a service account that is deleted. Returns them.
    pub async fn delete_trust_policies_of(
        &mut self,
        account: UserId,
    ) -> Result<Vec<TrustPolicy>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query_as!(
            Row,
            "update trust_policies set deleted_at = clock_timestamp()
             where organization_id = $1 and service_account_id = $2 and deleted_at is null
             returning id, service_account_id, name, issuer, audience, claims, pipelines, ttl_seconds, created_at, created_by",
            organization,
            account.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(TrustPolicy::try_from).collect()
    }
}
