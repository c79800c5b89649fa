//! Ephemeral environments: their configuration, and the current state of their lock.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{Purpose, Reason};
use greenroom_domain::id::{DeploymentId, EnvironmentId, OrganizationId, PipelineId, SessionId, UserId};
use greenroom_domain::owner::{Owner, ServiceToken};
use greenroom_domain::role::Role;
use jiff::Timestamp;

use crate::error::{parse_column, parse_nullable_column};
use crate::token_columns::service_token;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    pub id: EnvironmentId,
    pub pipeline_id: PipelineId,
    pub name: String,
    pub url: Option<String>,
    pub labels: Vec<String>,
    pub configuration: serde_json::Value,
    pub force_role: Role,
    pub longest_lease_seconds: i64,
    pub sessions: i64,
    pub lock: LockView,
    /// What is live there: the last successful deployment of a session, unless a later teardown succeeded.
    pub deployed: Option<Deployed>,
    /// When the last session ended. `None` while the lock is held, and before the first session.
    pub free_since: Option<Timestamp>,
    /// The deployment that acts on the environment.
    pub work_slot: Option<SlotHolder>,
    /// The holder's lease has expired, but the expiry is not recorded yet.
    pub unsettled: bool,
}

/// The deployment that has the work slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotHolder {
    pub deployment_id: DeploymentId,
    pub purpose: Purpose,
    pub commit_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployed {
    pub deployment_id: DeploymentId,
    pub commit_id: String,
    pub at: Timestamp,
}

/// A teardown that did not succeed. What it should have removed may still be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanupFailed {
    pub deployment_id: DeploymentId,
    pub at: Timestamp,
    pub reason: Reason,
}

/// The state of the lock by the database's clock. An expired lease does not count as held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockView {
    pub holder: Option<Holder>,
    pub queue_length: i32,
    /// A pending request to the holder for a hand-over.
    pub handover: Option<HandoverRequest>,
    /// The last teardown, if it did not succeed. This does not block a claim.
    pub cleanup_failed: Option<CleanupFailed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverRequest {
    /// The requester's session, which is in the queue.
    pub session_id: SessionId,
    pub user_id: UserId,
    pub name: String,
    pub kind: String,
    /// The name of the requester's token, if the requester is a service account.
    pub token_name: Option<String>,
    pub context: Option<String>,
    pub requested_at: Timestamp,
    pub due_at: Timestamp,
    /// The request is accepted if the holder does not respond by `due_at` and the requester could force at
    /// that time.
    pub accepts: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub session_id: SessionId,
    pub user_id: UserId,
    pub name: String,
    pub kind: String,
    /// The token that claimed the session, if the user is a service account.
    pub token: Option<ServiceToken>,
    pub context: Option<String>,
    pub commit_id: Option<String>,
    pub claimed_at: Timestamp,
    pub expires_at: Timestamp,
    /// The latest time to which the lease can be renewed.
    pub max_expires_at: Timestamp,
    /// True for a plain claim and for a confirmed grant from the queue. Until a grant is confirmed,
    /// `expires_at` is the deadline of the confirmation.
    pub confirmed: bool,
    pub fence: i64,
}

impl Holder {
    pub fn owner(&self) -> Owner {
        Owner { user: self.user_id, token: self.token.as_ref().map(|token| token.id) }
    }
}

pub(crate) struct Row {
    pub(crate) id: uuid::Uuid,
    pub(crate) pipeline_id: uuid::Uuid,
    pub(crate) name: String,
    pub(crate) url: Option<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) configuration: serde_json::Value,
    pub(crate) force_role: String,
    pub(crate) longest_lease_seconds: i64,
    pub(crate) sessions: i64,
    pub(crate) waiters: i32,
    pub(crate) fence: i64,
    pub(crate) is_held: Option<bool>,
    pub(crate) session_id: Option<uuid::Uuid>,
    pub(crate) holder_id: Option<uuid::Uuid>,
    pub(crate) holder_name: Option<String>,
    pub(crate) holder_kind: Option<String>,
    pub(crate) owner_token_id: Option<uuid::Uuid>,
    pub(crate) holder_token_name: Option<String>,
    pub(crate) context: Option<String>,
    pub(crate) commit_id: Option<String>,
    pub(crate) claimed_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) expires_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) max_expires_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) confirmed: bool,
    pub(crate) handover_session_id: Option<uuid::Uuid>,
    pub(crate) handover_user_id: Option<uuid::Uuid>,
    pub(crate) handover_user_name: Option<String>,
    pub(crate) handover_user_kind: Option<String>,
    pub(crate) handover_token_name: Option<String>,
    pub(crate) handover_context: Option<String>,
    pub(crate) handover_requested_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) handover_due_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) handover_accepts: Option<bool>,
    pub(crate) cleanup_failed_deployment_id: Option<uuid::Uuid>,
    pub(crate) cleanup_failed_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) cleanup_failed_reason: Option<String>,
    pub(crate) deployed_deployment_id: Option<uuid::Uuid>,
    pub(crate) deployed_commit_id: Option<String>,
    pub(crate) deployed_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) free_since: Option<jiff_sqlx::Timestamp>,
    pub(crate) slot_deployment_id: Option<uuid::Uuid>,
    pub(crate) slot_purpose: Option<String>,
    pub(crate) slot_commit_id: Option<String>,
}

impl TryFrom<Row> for Environment {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let unsettled = row.session_id.is_some() && row.is_held == Some(false);
        let lease = (row.claimed_at, row.expires_at, row.max_expires_at);
        let holder = match (row.session_id, row.holder_id, lease) {
            (Some(session), Some(user), (Some(claimed_at), Some(expires_at), Some(max_expires_at)))
                if row.is_held == Some(true) =>
            {
                Some(Holder {
                    session_id: session.into(),
                    user_id: user.into(),
                    name: row.holder_name.unwrap_or_default(),
                    kind: row.holder_kind.unwrap_or_default(),
                    token: service_token(row.owner_token_id, row.holder_token_name),
                    context: row.context,
                    commit_id: row.commit_id,
                    claimed_at: claimed_at.to_jiff(),
                    expires_at: expires_at.to_jiff(),
                    max_expires_at: max_expires_at.to_jiff(),
                    confirmed: row.confirmed,
                    fence: row.fence,
                })
            }
            _ => None,
        };
        let columns = (
            row.handover_session_id.filter(|_| holder.is_some()),
            row.handover_user_id,
            row.handover_requested_at,
            row.handover_due_at,
        );
        let handover = match columns {
            (Some(session), Some(user), Some(requested_at), Some(due_at)) => Some(HandoverRequest {
                session_id: session.into(),
                user_id: user.into(),
                name: row.handover_user_name.unwrap_or_default(),
                kind: row.handover_user_kind.unwrap_or_default(),
                token_name: row.handover_token_name,
                context: row.handover_context,
                requested_at: requested_at.to_jiff(),
                due_at: due_at.to_jiff(),
                accepts: row.handover_accepts == Some(true),
            }),
            _ => None,
        };
        let cleanup_failed = match (
            row.cleanup_failed_deployment_id,
            row.cleanup_failed_at,
            parse_nullable_column(
                "environments.cleanup_failed_reason",
                row.cleanup_failed_reason.as_deref(),
            )?,
        ) {
            (Some(id), Some(at), Some(reason)) => {
                Some(CleanupFailed { deployment_id: id.into(), at: at.to_jiff(), reason })
            }
            _ => None,
        };
        let deployed = row.deployed_deployment_id.zip(row.deployed_at).map(|(id, at)| Deployed {
            deployment_id: id.into(),
            commit_id: row.deployed_commit_id.unwrap_or_default(),
            at: at.to_jiff(),
        });
        let slot_purpose = parse_nullable_column("deployments.purpose", row.slot_purpose.as_deref())?;
        let work_slot = match (row.slot_deployment_id, slot_purpose, row.slot_commit_id) {
            (Some(id), Some(purpose), Some(commit_id)) => {
                Some(SlotHolder { deployment_id: id.into(), purpose, commit_id })
            }
            _ => None,
        };
        let free_since = row.free_since.filter(|_| holder.is_none()).map(jiff_sqlx::Timestamp::to_jiff);
        Ok(Self {
            id: row.id.into(),
            pipeline_id: row.pipeline_id.into(),
            name: row.name,
            url: row.url,
            labels: row.labels,
            configuration: row.configuration,
            force_role: parse_column("environments.force_role", &row.force_role)?,
            longest_lease_seconds: row.longest_lease_seconds,
            sessions: row.sessions,
            lock: LockView { holder, queue_length: row.waiters, handover, cleanup_failed },
            deployed,
            free_since,
            work_slot,
            unsettled,
        })
    }
}

macro_rules! environment_query {
    ($rest:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            $crate::environment::Row,
            "select id, pipeline_id, name, url, labels, configuration, force_role, longest_lease_seconds, sessions, waiters, fence,
                    expires_at > clock_timestamp() as is_held,
                    session_id, holder_id, holder_name, holder_kind, owner_token_id, holder_token_name, context, commit_id, claimed_at, expires_at,
                    max_expires_at, confirmed, handover_session_id, handover_user_id, handover_user_name, handover_user_kind,
                    handover_token_name, handover_context,
                    handover_requested_at, handover_due_at, handover_accepts, cleanup_failed_deployment_id,
                    cleanup_failed_at, cleanup_failed_reason, deployed_deployment_id, deployed_commit_id, deployed_at,
                    case when free_since >= used_at then free_since end as free_since, slot_deployment_id,
                    (select d.purpose from deployments d
                     where d.organization_id = $1 and d.id = slot_deployment_id) as slot_purpose,
                    (select d.commit_id from deployments d
                     where d.organization_id = $1 and d.id = slot_deployment_id) as slot_commit_id
             from environments
             where organization_id = $1 and " + $rest,
            $($argument),*
        )
    };
}
pub(crate) use environment_query;

#[boxed_futures]
impl Store {
    pub async fn environments(
        &self,
        organization: OrganizationId,
        pipeline: PipelineId,
    ) -> Result<Vec<Environment>, StoreError> {
        let rows = environment_query!(
            "pipeline_id = $2 and (listed or session_id is not null or waiters > 0 or slot_deployment_id is not null
                  or cleanup_retry_at is not null)
             order by name",
            organization.uuid(),
            pipeline.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter().map(Environment::try_from).collect()
    }

    pub async fn environment(
        &self,
        organization: OrganizationId,
        pipeline: PipelineId,
        name: &str,
    ) -> Result<Option<Environment>, StoreError> {
        let row =
            environment_query!("pipeline_id = $2 and name = $3", organization.uuid(), pipeline.uuid(), name,)
                .fetch_optional(&self.pool())
                .await?;
        row.map(Environment::try_from).transpose()
    }

    pub async fn environments_of_ids(
        &self,
        organization: OrganizationId,
        ids: &[EnvironmentId],
    ) -> Result<Vec<Environment>, StoreError> {
        let ids: Vec<uuid::Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let rows =
            environment_query!("id = any($2)", organization.uuid(), &ids).fetch_all(&self.pool()).await?;
        rows.into_iter().map(Environment::try_from).collect()
    }
}

#[boxed_futures]
impl OrgTransaction {
    pub async fn environment(&mut self, id: EnvironmentId) -> Result<Option<Environment>, StoreError> {
        let organization = self.organization();
        let row =
            environment_query!("id = $2", organization, id.uuid(),).fetch_optional(self.connection()).await?;
        row.map(Environment::try_from).transpose()
    }
}
