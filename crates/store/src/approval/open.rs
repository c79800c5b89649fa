//! Opens the approvals of stages whose turn has come.

use greenroom_domain::approval::{Approval, Gate, Requirement, Subject, prospect};
use greenroom_domain::definition::{ApprovalRule, Definition};
use greenroom_domain::deployment::{Stage, StageStatus};
use greenroom_domain::id::ApprovalId;
use jiff::Timestamp;
use serde_json::json;

use super::event::ApprovalEvent;
use super::state::StoredApproval;
use crate::StoreError;
use crate::deployment::LockedDeployment;
use crate::error::to_column;
use crate::transaction::OrgTransaction;

/// An approval that is to be stored when its stage is.
pub(crate) struct NewApproval {
    approval: StoredApproval,
    subject: Subject,
    is_satisfiable: bool,
    /// Who saved the versions of the definition that are new to the stage.
    authors: Vec<uuid::Uuid>,
}

impl OrgTransaction {
    /// Opens an approval for each stage that waits for one. [`Self::insert_approvals`] has to store them.
    pub(crate) async fn open_approvals(
        &mut self,
        deployment: &mut LockedDeployment,
        definition: &Definition,
    ) -> Result<Vec<NewApproval>, StoreError> {
        let wants = |stage: &&Stage| stage.status == StageStatus::Waiting && stage.gate == Gate::Wanted;
        let waiting: Vec<Stage> = deployment.state.stages.iter().filter(wants).cloned().collect();
        let mut opened = Vec::new();
        for stage in waiting {
            let requirement =
                definition.stage(&stage.key).and_then(|defined| Requirement::of(definition, defined));
            let subject = self.subject_of(deployment, definition, &stage).await?;
            // A stage whose commit id is not complete has failed before.
            let (Some(requirement), Some(subject)) = (requirement, subject) else { continue };
            let new = self.open_approval(deployment, &stage, requirement, subject).await?;
            if let Some(stage) = deployment.state.stages.iter_mut().find(|other| other.key == stage.key) {
                stage.gate = new.approval.state.gate();
            }
            deployment.approvals.insert(stage.key, new.approval.clone());
            opened.push(new);
        }
        Ok(opened)
    }

    async fn open_approval(
        &mut self,
        deployment: &LockedDeployment,
        stage: &Stage,
        requirement: Requirement,
        subject: Subject,
    ) -> Result<NewApproval, StoreError> {
        let versions = self.new_versions(deployment.id, &stage.key, subject.environment.as_deref()).await?;
        let excluded = self.excluded_from(deployment.id, &requirement, &versions).await?;
        let members = self.approving_members().await?;
        let prospect = prospect(&requirement.rules, &excluded, &members);
        let digest = subject.digest();
        let state = Approval::open(digest, requirement.timeout(), requirement.valid_for(), deployment.now);
        let approval = StoredApproval {
            id: ApprovalId::from(uuid::Uuid::now_v7()),
            pipeline: deployment.pipeline_id,
            deployment: deployment.id,
            stage: stage.key.clone(),
            environment: subject.environment.clone(),
            accepted_at: deployment.accepted_at,
            requirement,
            state,
            needed: to_column("approvals.needed", prospect.needed)?,
            have: 0,
            eligible: to_column("approvals.eligible", prospect.eligible)?,
        };
        let authors = versions.people();
        Ok(NewApproval { approval, subject, is_satisfiable: prospect.is_satisfiable, authors })
    }

    /// Stores approvals that were opened, after their stages.
    pub(crate) async fn insert_approvals(
        &mut self,
        opened: Vec<NewApproval>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for new in opened {
            self.insert_approval(&new, now).await?;
            self.record_approval_event(&new.approval, ApprovalEvent::Requested).await?;
            if !new.is_satisfiable {
                self.record_approval_event(&new.approval, ApprovalEvent::Unsatisfiable).await?;
            }
        }
        Ok(())
    }

    async fn insert_approval(
        &mut self,
        NewApproval { approval, subject, is_satisfiable, authors }: &NewApproval,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into approvals
                 (organization_id, id, pipeline_id, deployment_id, stage_key, environment, requirement, needed, eligible,
                  is_satisfiable, subject, subject_digest, accepted_at, created_at, expires_at, authors)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
            organization,
            approval.id.uuid(),
            approval.pipeline.uuid(),
            approval.deployment.uuid(),
            approval.stage,
            approval.environment,
            json!(approval.requirement),
            approval.needed,
            approval.eligible,
            *is_satisfiable,
            json!(subject),
            approval.state.subject_digest.as_str(),
            jiff_sqlx::Timestamp::from(approval.accepted_at) as jiff_sqlx::Timestamp,
            jiff_sqlx::Timestamp::from(now) as jiff_sqlx::Timestamp,
            jiff_sqlx::Timestamp::from(approval.state.expires_at) as jiff_sqlx::Timestamp,
            authors,
        )
        .execute(self.connection())
        .await?;
        sqlx::query!(
            "with named as (
                 insert into approval_approvers (organization_id, approver, approval_id)
                 select $1, approver, $2 from unnest($5::text[]) as approver
             )
             update stages set approval_id = $2 where organization_id = $1 and deployment_id = $3 and key = $4",
            organization,
            approval.id.uuid(),
            approval.deployment.uuid(),
            approval.stage,
            &approvers(&approval.requirement.rules),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

/// Returns whom the rules name, as in `approval_approvers`.
fn approvers(rules: &[ApprovalRule]) -> Vec<String> {
    let of_rule = |rule: &ApprovalRule| {
        let groups = rule.groups.iter().map(|name| format!("group:{name}"));
        let roles = rule.roles.iter().map(|role| format!("role:{role}"));
        let users = rule.users.iter().map(|user| format!("user:{}", user.to_lowercase()));
        groups.chain(roles).chain(users).collect::<Vec<_>>()
    };
    let mut approvers: Vec<String> = rules.iter().flat_map(of_rule).collect();
    approvers.sort_unstable();
    approvers.dedup();
    approvers
}
