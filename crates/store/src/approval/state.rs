//! What the domain's machine needs of an approval, and its new state written.

use greenroom_domain::approval::{Approval, ApprovalCommand, Requirement};
use greenroom_domain::deployment::ApprovalProgress;
use greenroom_domain::id::{ApprovalId, DeploymentId, PipelineId};
use jiff::Timestamp;

use crate::StoreError;
use crate::error::parse_column;
use crate::transaction::OrgTransaction;

/// An approval, whose row is locked if it is pending.
#[derive(Clone, Debug)]
pub(crate) struct StoredApproval {
    pub(crate) id: ApprovalId,
    pub(crate) pipeline: PipelineId,
    pub(crate) deployment: DeploymentId,
    pub(crate) stage: String,
    pub(crate) environment: Option<String>,
    pub(crate) accepted_at: Timestamp,
    pub(crate) requirement: Requirement,
    pub(crate) state: Approval,
    pub(crate) needed: i32,
    pub(crate) have: i32,
    pub(crate) eligible: i32,
}

impl StoredApproval {
    /// Returns how far it is, if it is pending.
    pub(crate) fn progress(&self) -> Option<ApprovalProgress> {
        let count = |number: i32| u32::try_from(number).unwrap_or_default();
        (!self.state.status.is_final()).then(|| ApprovalProgress {
            approval_id: self.id,
            needed: count(self.needed),
            have: count(self.have),
            eligible: count(self.eligible),
        })
    }
}

pub(super) struct Row {
    pub(super) id: uuid::Uuid,
    pub(super) pipeline_id: uuid::Uuid,
    pub(super) deployment_id: uuid::Uuid,
    pub(super) stage_key: String,
    pub(super) environment: Option<String>,
    pub(super) accepted_at: jiff_sqlx::Timestamp,
    pub(super) requirement: serde_json::Value,
    pub(super) status: String,
    pub(super) subject_digest: String,
    pub(super) expires_at: jiff_sqlx::Timestamp,
    pub(super) decided_at: Option<jiff_sqlx::Timestamp>,
    pub(super) valid_until: Option<jiff_sqlx::Timestamp>,
    pub(super) needed: i32,
    pub(super) have: i32,
    pub(super) eligible: i32,
}

impl TryFrom<Row> for StoredApproval {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let requirement: Requirement = serde_json::from_value(row.requirement).map_err(|error| {
            StoreError::Unreadable { column: "approvals.requirement", value: error.to_string() }
        })?;
        let state = Approval {
            status: parse_column("approvals.status", &row.status)?,
            subject_digest: parse_column("approvals.subject_digest", &row.subject_digest)?,
            expires_at: row.expires_at.to_jiff(),
            valid_for: requirement.valid_for(),
            decided_at: row.decided_at.map(jiff_sqlx::Timestamp::to_jiff),
            valid_until: row.valid_until.map(jiff_sqlx::Timestamp::to_jiff),
        };
        Ok(Self {
            id: row.id.into(),
            pipeline: row.pipeline_id.into(),
            deployment: row.deployment_id.into(),
            stage: row.stage_key,
            environment: row.environment,
            accepted_at: row.accepted_at.to_jiff(),
            requirement,
            state,
            needed: row.needed,
            have: row.have,
            eligible: row.eligible,
        })
    }
}

/// Selects approvals of organization `$1` that fulfill a condition.
macro_rules! approval_query {
    ($condition:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            crate::approval::state::Row,
            "select a.id, a.pipeline_id, a.deployment_id, a.stage_key, a.environment, a.accepted_at, a.requirement,
                    a.status, a.subject_digest, a.expires_at, a.decided_at, a.valid_until, a.needed, a.have, a.eligible
             from approvals a where a.organization_id = $1 and " + $condition,
            $($argument),*
        )
    };
}

pub(super) use approval_query;

impl OrgTransaction {
    /// Locks an approval.
    pub(super) async fn lock_approval(
        &mut self,
        id: ApprovalId,
    ) -> Result<Option<StoredApproval>, StoreError> {
        let organization = self.organization();
        let row = approval_query!("a.id = $2 for update", organization, id.uuid())
            .fetch_optional(self.connection())
            .await?;
        row.map(StoredApproval::try_from).transpose()
    }

    /// Locks the approvals with these ids that are pending, and returns all of them.
    pub(crate) async fn lock_pending_approvals(
        &mut self,
        ids: &[uuid::Uuid],
    ) -> Result<Vec<StoredApproval>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let organization = self.organization();
        approval_query!(
            "a.id = any($2) and a.status = 'pending' order by a.id desc for update",
            organization,
            ids
        )
        .fetch_all(self.connection())
        .await?;
        let rows = approval_query!("a.id = any($2)", organization, ids).fetch_all(self.connection()).await?;
        rows.into_iter().map(StoredApproval::try_from).collect()
    }

    /// Applies a command to a locked approval, and writes its new state. Returns whether it is decided now.
    pub(super) async fn apply_to_approval(
        &mut self,
        approval: &mut StoredApproval,
        command: &ApprovalCommand<'_>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        if !approval.state.apply(command, now) {
            return Ok(false);
        }
        let organization = self.organization();
        sqlx::query!(
            "with decided as (
                 update approvals set status = $3, decided_at = $4, valid_until = $5
                 where organization_id = $1 and id = $2
             )
             delete from approval_approvers where organization_id = $1 and approval_id = $2",
            organization,
            approval.id.uuid(),
            approval.state.status.as_str(),
            approval.state.decided_at.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            approval.state.valid_until.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        Ok(true)
    }
}
