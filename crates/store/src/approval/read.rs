//! Reads approvals for the API.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::approval::{ApprovalStatus, Requirement, Subject, VoteChoice};
use greenroom_domain::id::{ApprovalId, DeploymentId, OrganizationId, PipelineId, UserId};
use greenroom_domain::principal::Principal;
use greenroom_domain::token_grant::PipelineLimit;
use jiff::Timestamp;
use sqlx::PgConnection;

use crate::error::{from_column, parse_column};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::pipeline::PipelineName;
use crate::token_columns::limit_ids;
use crate::{Command, Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRecord {
    pub id: ApprovalId,
    pub pipeline_id: PipelineId,
    pub deployment_id: DeploymentId,
    pub stage: String,
    pub environment: Option<String>,
    pub status: ApprovalStatus,
    pub requirement: Requirement,
    pub needed: u32,
    pub have: u32,
    pub eligible: u32,
    pub is_satisfiable: bool,
    pub subject: Subject,
    pub subject_digest: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub decided_at: Option<Timestamp>,
    pub valid_until: Option<Timestamp>,
    pub overridden: Option<OverrideRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverrideRecord {
    pub by: UserId,
    pub by_name: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoteRecord {
    pub user_id: UserId,
    pub user_name: String,
    pub choice: VoteChoice,
    pub comment: Option<String>,
    pub voted_at: Timestamp,
    pub withdrawn_at: Option<Timestamp>,
    /// Who enrolled the voter, or added them to the organization, and the name; `None` if a provider or the operator has
    /// confirmed the voter.
    pub enrolled_by: Option<(UserId, String)>,
}

/// What people have to do with an approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalPeople {
    /// The oldest first.
    pub votes: Vec<VoteRecord>,
    /// The people who saved the versions of the definition that were new to the stage, and their names.
    pub authors: Vec<(UserId, String)>,
}

/// Conditions on approvals. All conditions that are given have to match.
#[derive(Clone, Debug, Default)]
pub struct ApprovalFilter {
    /// One of these.
    pub statuses: Option<Vec<String>>,
    pub pipeline: Option<PipelineName>,
    pub environment: Option<String>,
    /// Only those of pipelines that the token has access to.
    pub within: PipelineLimit,
}

impl ApprovalFilter {
    pub fn includes(&self, status: ApprovalStatus) -> bool {
        self.statuses.as_ref().is_none_or(|statuses| statuses.iter().any(|text| text == status.as_str()))
    }
}

struct Row {
    id: uuid::Uuid,
    pipeline_id: uuid::Uuid,
    deployment_id: uuid::Uuid,
    stage_key: String,
    environment: Option<String>,
    status: String,
    requirement: serde_json::Value,
    needed: i32,
    have: i32,
    eligible: i32,
    is_satisfiable: bool,
    subject: serde_json::Value,
    subject_digest: String,
    created_at: jiff_sqlx::Timestamp,
    expires_at: jiff_sqlx::Timestamp,
    decided_at: Option<jiff_sqlx::Timestamp>,
    valid_until: Option<jiff_sqlx::Timestamp>,
    override_by: Option<uuid::Uuid>,
    override_by_name: Option<String>,
    override_reason: Option<String>,
}

fn unreadable(column: &'static str) -> impl Fn(serde_json::Error) -> StoreError {
    move |error| StoreError::Unreadable { column, value: error.to_string() }
}

impl TryFrom<Row> for ApprovalRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let overridden = match (row.override_by, row.override_by_name, row.override_reason) {
            (Some(by), Some(by_name), Some(reason)) => {
                Some(OverrideRecord { by: by.into(), by_name, reason })
            }
            _ => None,
        };
        Ok(Self {
            id: row.id.into(),
            pipeline_id: row.pipeline_id.into(),
            deployment_id: row.deployment_id.into(),
            stage: row.stage_key,
            environment: row.environment,
            status: parse_column("approvals.status", &row.status)?,
            requirement: serde_json::from_value(row.requirement)
                .map_err(unreadable("approvals.requirement"))?,
            needed: from_column("approvals.needed", row.needed)?,
            have: from_column("approvals.have", row.have)?,
            eligible: from_column("approvals.eligible", row.eligible)?,
            is_satisfiable: row.is_satisfiable,
            subject: serde_json::from_value(row.subject).map_err(unreadable("approvals.subject"))?,
            subject_digest: row.subject_digest,
            created_at: row.created_at.to_jiff(),
            expires_at: row.expires_at.to_jiff(),
            decided_at: row.decided_at.map(jiff_sqlx::Timestamp::to_jiff),
            valid_until: row.valid_until.map(jiff_sqlx::Timestamp::to_jiff),
            overridden,
        })
    }
}

/// Selects approvals; `$end` is the rest of the statement after the `from`.
macro_rules! record_query {
    ($end:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            "select a.id, a.pipeline_id, a.deployment_id, a.stage_key, a.environment, a.status, a.requirement, a.needed,
                    a.have, a.eligible, a.is_satisfiable, a.subject, a.subject_digest, a.created_at, a.expires_at,
                    a.decided_at, a.valid_until, a.override_by, a.override_by_name, a.override_reason
             from approvals a " + $end,
            $($argument),*
        )
    };
}

/// Returns how the rules of approvals may name a user, as in `approval_approvers`. None names a service account.
async fn names_of(connection: &mut PgConnection, principal: &Principal) -> Result<Vec<String>, StoreError> {
    let found = sqlx::query!(
        r#"select m.email as "email!", array(select g.name from group_members n
                      join groups g on g.organization_id = $1 and g.id = n.group_id and g.deleted_at is null
                      where n.organization_id = $1 and n.user_id = $2) as "groups!"
           from memberships m
           where m.organization_id = $1 and m.user_id = $2 and m.removed_at is null and m.kind = 'person'"#,
        principal.organization_id.uuid(),
        principal.user_id.uuid(),
    )
    .fetch_optional(connection)
    .await?;
    let Some(found) = found else { return Ok(Vec::new()) };
    let own = [
        format!("role:{}", principal.role),
        format!("user:{}", principal.user_id),
        format!("user:{}", found.email.to_lowercase()),
    ];
    Ok(own.into_iter().chain(found.groups.into_iter().map(|name| format!("group:{name}"))).collect())
}

#[boxed_futures]
impl Store {
    /// Returns the approvals that match the filter, newest first.
    pub async fn approvals(
        &self,
        organization: OrganizationId,
        filter: &ApprovalFilter,
        page: Page,
    ) -> Result<PageResult<ApprovalRecord>, StoreError> {
        let (pipeline, within) = (filter.pipeline.as_ref(), limit_ids(&filter.within));
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from approvals a
                   where a.organization_id = $1 and ($2::text[] is null or a.status = any($2))
                     and ($3::uuid is null or a.pipeline_id = $3)
                     and ($4::text is null or a.pipeline_id in (select p.id from pipelines p
                         where p.organization_id = $1 and p.slug = $4 and p.status <> 'archived'))
                     and ($5::text is null or a.environment = $5) and ($6::uuid[] is null or a.pipeline_id = any($6))
                   limit $7
               ) counted"#,
            organization.uuid(),
            filter.statuses.as_deref(),
            pipeline.and_then(PipelineName::id),
            pipeline.and_then(PipelineName::slug),
            filter.environment,
            within.as_deref(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = record_query!(
            "where a.organization_id = $1 and ($2::text[] is null or a.status = any($2))
               and ($3::uuid is null or a.pipeline_id = $3)
               and ($4::text is null or a.pipeline_id in (select p.id from pipelines p
                   where p.organization_id = $1 and p.slug = $4 and p.status <> 'archived'))
               and ($5::text is null or a.environment = $5) and ($6::uuid[] is null or a.pipeline_id = any($6))
             order by a.id desc limit $7 offset $8",
            organization.uuid(),
            filter.statuses.as_deref(),
            pipeline.and_then(PipelineName::id),
            pipeline.and_then(PipelineName::slug),
            filter.environment,
            within.as_deref(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(ApprovalRecord::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns the pending approvals that match the filter, on which the user may vote and has not voted, newest first. The
    /// user is found in the index of approvers, so the number of other approvals does not matter. The deployment is read
    /// by a scalar subquery: for `not exists`, PostgreSQL may read all deployments into a hash table.
    pub async fn approvals_for(
        &self,
        principal: &Principal,
        filter: &ApprovalFilter,
        page: Page,
    ) -> Result<PageResult<ApprovalRecord>, StoreError> {
        let (pipeline, within) = (filter.pipeline.as_ref(), limit_ids(&filter.within));
        let (organization, user) = (principal.organization_id.uuid(), principal.user_id.uuid());
        let mut connection = self.pool().acquire().await?;
        let names = names_of(&mut connection, principal).await?;
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from approvals a
                   where a.organization_id = $1 and a.status = 'pending'
                     and a.id in (select n.approval_id from approval_approvers n
                         where n.organization_id = $1 and n.approver = any($2))
                     and not exists (select 1 from approval_votes v where v.organization_id = $1
                         and v.approval_id = a.id and v.user_id = $3 and v.withdrawn_at is null)
                     and ((a.requirement ->> 'selfApproval')::boolean or (
                         select not coalesce(d.created_by = $3 or d.on_behalf_of = $3 or $3 = any(d.retriers) or s.user_id = $3, false)
                         and $3 <> all(a.authors)
                         from deployments d left join sessions s on s.organization_id = $1 and s.id = d.session_id
                         where d.organization_id = $1 and d.id = a.deployment_id))
                     and ($4::uuid is null or a.pipeline_id = $4)
                     and ($5::text is null or a.pipeline_id in (select p.id from pipelines p
                         where p.organization_id = $1 and p.slug = $5 and p.status <> 'archived'))
                     and ($6::text is null or a.environment = $6) and ($7::uuid[] is null or a.pipeline_id = any($7))
                   limit $8
               ) counted"#,
            organization,
            &names,
            user,
            pipeline.and_then(PipelineName::id),
            pipeline.and_then(PipelineName::slug),
            filter.environment,
            within.as_deref(),
            MAX_COUNT + 1,
        )
        .fetch_one(&mut *connection)
        .await?;
        let rows = record_query!(
            "where a.organization_id = $1 and a.status = 'pending'
               and a.id in (select n.approval_id from approval_approvers n
                   where n.organization_id = $1 and n.approver = any($2))
               and not exists (select 1 from approval_votes v where v.organization_id = $1
                   and v.approval_id = a.id and v.user_id = $3 and v.withdrawn_at is null)
               and ((a.requirement ->> 'selfApproval')::boolean or (
                   select not coalesce(d.created_by = $3 or d.on_behalf_of = $3 or $3 = any(d.retriers) or s.user_id = $3, false)
                       and $3 <> all(a.authors)
                   from deployments d left join sessions s on s.organization_id = $1 and s.id = d.session_id
                   where d.organization_id = $1 and d.id = a.deployment_id))
               and ($4::uuid is null or a.pipeline_id = $4)
               and ($5::text is null or a.pipeline_id in (select p.id from pipelines p
                   where p.organization_id = $1 and p.slug = $5 and p.status <> 'archived'))
               and ($6::text is null or a.environment = $6) and ($7::uuid[] is null or a.pipeline_id = any($7))
             order by a.id desc limit $8 offset $9",
            organization,
            &names,
            user,
            pipeline.and_then(PipelineName::id),
            pipeline.and_then(PipelineName::slug),
            filter.environment,
            within.as_deref(),
            page.limit,
            page.offset,
        )
        .fetch_all(&mut *connection)
        .await?;
        let rows = rows.into_iter().map(ApprovalRecord::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns an approval with its votes and authors.
    pub async fn approval(
        &self,
        organization: OrganizationId,
        id: ApprovalId,
    ) -> Result<Option<(ApprovalRecord, ApprovalPeople)>, StoreError> {
        let mut connection = self.pool().acquire().await?;
        read(&mut connection, organization.uuid(), id).await
    }
}

#[boxed_futures]
impl Command {
    /// Returns an approval with its votes, as this command has changed them.
    pub async fn approval(
        &mut self,
        id: ApprovalId,
    ) -> Result<Option<(ApprovalRecord, ApprovalPeople)>, StoreError> {
        let organization = self.organization();
        read(self.connection(), organization, id).await
    }
}

async fn read(
    connection: &mut PgConnection,
    organization: uuid::Uuid,
    id: ApprovalId,
) -> Result<Option<(ApprovalRecord, ApprovalPeople)>, StoreError> {
    let row = record_query!("where a.organization_id = $1 and a.id = $2", organization, id.uuid())
        .fetch_optional(&mut *connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let votes = sqlx::query!(
        r#"select v.user_id, v.user_name, v.choice, v.comment, v.voted_at, v.withdrawn_at, e.user_id as "enrolled_by?",
                  e.name as "enrolled_by_name?"
           from approval_votes v
           join users u on u.id = v.user_id
           left join memberships m on m.organization_id = $1 and m.user_id = v.user_id
           left join memberships e on e.organization_id = $1 and e.user_id = coalesce(u.enrolled_by, m.added_by)
               and (u.signed_in_at is null or u.enrolled_in is not null)
           where v.organization_id = $1 and v.approval_id = $2 order by v.voted_at, v.user_id"#,
        organization,
        id.uuid(),
    )
    .fetch_all(&mut *connection)
    .await?;
    let authors = sqlx::query!(
        "select m.user_id, m.name from approvals a
         join memberships m on m.organization_id = $1 and m.user_id = any(a.authors)
         where a.organization_id = $1 and a.id = $2 order by m.name, m.user_id",
        organization,
        id.uuid(),
    )
    .fetch_all(connection)
    .await?;
    let authors = authors.into_iter().map(|author| (author.user_id.into(), author.name)).collect();
    let votes = votes.into_iter().map(|vote| {
        Ok(VoteRecord {
            user_id: vote.user_id.into(),
            user_name: vote.user_name,
            choice: parse_column("approval_votes.choice", &vote.choice)?,
            comment: vote.comment,
            voted_at: vote.voted_at.to_jiff(),
            withdrawn_at: vote.withdrawn_at.map(jiff_sqlx::Timestamp::to_jiff),
            enrolled_by: vote.enrolled_by.map(UserId::from).zip(vote.enrolled_by_name),
        })
    });
    let votes = votes.collect::<Result<_, StoreError>>()?;
    Ok(Some((row.try_into()?, ApprovalPeople { votes, authors })))
}
