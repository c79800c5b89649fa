//! Votes. One of them, or the last that was missing, decides the approval.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::approval::{
    ApprovalCommand, ApprovalStatus, Ballot, Decision, Excluded, Place, SubjectDigest, Vote, VoteChoice,
    VoteRejected, check_vote, decide, supersedes,
};
use greenroom_domain::id::{ApprovalId, UserId};
use jiff::Timestamp;

use super::event::ApprovalEvent;
use super::state::{StoredApproval, approval_query};
use crate::error::{parse_column, to_column};
use crate::{Command, StoreError};

/// A vote that a user casts.
#[derive(Clone, Copy, Debug)]
pub struct NewVote<'a> {
    pub choice: VoteChoice,
    pub comment: Option<&'a str>,
    /// What the user has read.
    pub subject: &'a SubjectDigest,
}

/// The outcome of casting or withdrawing a vote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoteOutcome {
    Done,
    /// The user has voted the same before, or has no vote to withdraw.
    Unchanged,
    Missing,
    Rejected(VoteRejected),
}

#[boxed_futures]
impl Command {
    /// Casts a vote, which replaces the user's earlier one.
    pub async fn vote(&mut self, id: ApprovalId, new: NewVote<'_>) -> Result<VoteOutcome, StoreError> {
        let Some((mut approval, excluded, now)) = self.lock_for_vote(id).await? else {
            return Ok(VoteOutcome::Missing);
        };
        if let Err(rejected) = self.check(&approval, &excluded, Some(new.subject), now).await? {
            return Ok(VoteOutcome::Rejected(rejected));
        }
        let (organization, principal) = (self.organization(), self.principal().clone());
        let changed = sqlx::query!(
            "insert into approval_votes
                 (organization_id, approval_id, user_id, user_name, choice, comment, subject_digest, credential_id, voted_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             on conflict (organization_id, approval_id, user_id) do update
             set user_name = excluded.user_name, choice = excluded.choice, comment = excluded.comment,
                 subject_digest = excluded.subject_digest, credential_id = excluded.credential_id,
                 voted_at = excluded.voted_at, withdrawn_at = null
             where approval_votes.withdrawn_at is not null or approval_votes.choice <> excluded.choice
                or approval_votes.comment is distinct from excluded.comment
                or approval_votes.subject_digest <> excluded.subject_digest",
            organization,
            id.uuid(),
            principal.user_id.uuid(),
            principal.user_name,
            new.choice.as_str(),
            new.comment,
            new.subject.as_str(),
            principal.credential.uuid(),
            jiff_sqlx::Timestamp::from(now) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?
        .rows_affected();
        if changed == 0 {
            return Ok(VoteOutcome::Unchanged);
        }
        let event = ApprovalEvent::Voted(new.choice, new.comment);
        self.decide_approval(&mut approval, &excluded, event, now).await?;
        Ok(VoteOutcome::Done)
    }

    /// Withdraws the user's vote.
    pub async fn withdraw_vote(&mut self, id: ApprovalId) -> Result<VoteOutcome, StoreError> {
        let Some((mut approval, excluded, now)) = self.lock_for_vote(id).await? else {
            return Ok(VoteOutcome::Missing);
        };
        if let Err(rejected) = self.check(&approval, &excluded, None, now).await? {
            return Ok(VoteOutcome::Rejected(rejected));
        }
        let (organization, user) = (self.organization(), self.principal().user_id);
        let changed = sqlx::query!(
            "update approval_votes set withdrawn_at = $4
             where organization_id = $1 and approval_id = $2 and user_id = $3 and withdrawn_at is null",
            organization,
            id.uuid(),
            user.uuid(),
            jiff_sqlx::Timestamp::from(now) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?
        .rows_affected();
        if changed == 0 {
            return Ok(VoteOutcome::Unchanged);
        }
        self.decide_approval(&mut approval, &excluded, ApprovalEvent::Withdrawn, now).await?;
        Ok(VoteOutcome::Done)
    }

    /// Locks the approval, then reads who may not vote and the time.
    async fn lock_for_vote(
        &mut self,
        id: ApprovalId,
    ) -> Result<Option<(StoredApproval, Excluded, Timestamp)>, StoreError> {
        let Some(approval) = self.lock_approval(id).await? else { return Ok(None) };
        let (deployment, environment) = (approval.deployment, approval.environment.as_deref());
        let versions = self.new_versions(deployment, &approval.stage, environment).await?;
        let excluded = self.excluded_from(deployment, &approval.requirement, &versions).await?;
        let now = self.now().await?;
        Ok(Some((approval, excluded, now)))
    }

    async fn check(
        &mut self,
        approval: &StoredApproval,
        excluded: &Excluded,
        subject: Option<&SubjectDigest>,
        now: Timestamp,
    ) -> Result<Result<(), VoteRejected>, StoreError> {
        let (user, token) = (self.principal().user_id, self.principal().token_kind);
        let people = self.people(&[user.uuid()]).await?;
        let Some(voter) = people.get(&user) else { return Ok(Err(VoteRejected::NotYours)) };
        let ballot = Ballot { voter, token, subject };
        Ok(check_vote(&approval.state, &approval.requirement.rules, excluded, ballot, now))
    }

    /// Decides a locked approval by its votes, after one of them has changed.
    async fn decide_approval(
        &mut self,
        approval: &mut StoredApproval,
        excluded: &Excluded,
        event: ApprovalEvent<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let votes = self.votes_of(approval.id).await?;
        let rules = &approval.requirement.rules;
        let decision = decide(rules, &votes, excluded, &approval.state.subject_digest);
        approval.have = match decision {
            Decision::Open { have, .. } => to_column("approvals.have", have)?,
            Decision::Approved => approval.needed,
            Decision::Rejected { .. } => approval.have,
        };
        let organization = self.organization();
        sqlx::query!(
            "update approvals set have = $3 where organization_id = $1 and id = $2",
            organization,
            approval.id.uuid(),
            approval.have,
        )
        .execute(self.connection())
        .await?;
        self.record_approval_event(approval, event).await?;
        if self.apply_to_approval(approval, &ApprovalCommand::Decide(decision), now).await? {
            self.record_approval_end(approval, None).await?;
            self.wake(approval.deployment).await?;
            if approval.state.status == ApprovalStatus::Approved {
                self.supersede_older(approval, now).await?;
            }
        }
        Ok(())
    }

    async fn votes_of(&mut self, id: ApprovalId) -> Result<Vec<Vote>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            r#"select user_id, choice, subject_digest, withdrawn_at is not null as "is_withdrawn!" from approval_votes
               where organization_id = $1 and approval_id = $2 order by voted_at, user_id"#,
            organization,
            id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let users: Vec<uuid::Uuid> = rows.iter().map(|row| row.user_id).collect();
        let people = self.people(&users).await?;
        let mut votes = Vec::with_capacity(rows.len());
        for row in rows {
            // The vote of a user who never was a member does not exist.
            let Some(voter) = people.get(&UserId::from(row.user_id)) else { continue };
            votes.push(Vote {
                voter: voter.clone(),
                choice: parse_column("approval_votes.choice", &row.choice)?,
                subject_digest: parse_column("approval_votes.subject_digest", &row.subject_digest)?,
                is_withdrawn: row.is_withdrawn,
            });
        }
        Ok(votes)
    }

    /// Ends the pending approvals of older deployments for the same stage and environment.
    pub(super) async fn supersede_older(
        &mut self,
        approved: &StoredApproval,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let rows = approval_query!(
            "a.pipeline_id = $2 and a.stage_key = $3 and a.environment is not distinct from $4 and a.status = 'pending'
             and a.accepted_at <= $5 and a.id <> $6
             order by a.accepted_at desc, a.deployment_id desc for update",
            organization,
            approved.pipeline.uuid(),
            approved.stage,
            approved.environment.as_deref(),
            jiff_sqlx::Timestamp::from(approved.accepted_at) as jiff_sqlx::Timestamp,
            approved.id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        for row in rows {
            let mut older = StoredApproval::try_from(row)?;
            if supersedes(approved.place(), older.place())
                && self.apply_to_approval(&mut older, &ApprovalCommand::Supersede, now).await?
            {
                self.record_approval_end(&older, None).await?;
                self.wake(older.deployment).await?;
            }
        }
        Ok(())
    }
}

impl StoredApproval {
    fn place(&self) -> Place<'_> {
        Place {
            pipeline: self.pipeline,
            stage: &self.stage,
            environment: self.environment.as_deref(),
            deployment: self.deployment,
            accepted_at: self.accepted_at,
        }
    }
}
