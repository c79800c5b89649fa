//! Records a job's checkout: the full commit id, and the branch that was proven.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{BranchProof, required_proof};
use greenroom_domain::id::{DeploymentId, JobId};

use super::{AuthenticatedJob, JobCredentials};
use crate::error::parse_column;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckoutOutcome {
    Recorded,
    /// The job is not, or no longer, assigned to this runner.
    Gone,
    /// The deployment's commit, which is not a prefix of the reported one.
    OtherCommit(String),
    /// A branch was reported that does not prove this; `None` if the job has to prove no branch.
    OtherBranch(Option<BranchProof>),
}

#[boxed_futures]
impl Store {
    /// Records the full id of the commit and the proven branch. The first report of a deployment resolves a
    /// short commit id. All of its jobs have to check out the same commit. A branch is recorded only if the job has to prove
    /// it: policies of secrets and zones of caches go by what is recorded.
    pub async fn record_checkout(
        &self,
        credentials: JobCredentials<'_>,
        commit: &str,
        branch: Option<&str>,
    ) -> Result<CheckoutOutcome, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let Some(deployment) = transaction.deployment_of(credentials.job).await? else {
            return Ok(CheckoutOutcome::Gone);
        };
        // The deployment is always locked before the job.
        let other_commit = transaction.resolve_commit(deployment, commit).await?;
        let Some(own) = transaction.authenticated_job(credentials).await? else {
            return Ok(CheckoutOutcome::Gone);
        };
        // Returning without a commit rolls back.
        if let Some(other) = other_commit {
            return Ok(CheckoutOutcome::OtherCommit(other));
        }
        if let Some(branch) = branch {
            let required = transaction.proof_of(credentials.job, &own).await?;
            if !required.as_ref().is_some_and(|required| required.is_met_by(branch)) {
                return Ok(CheckoutOutcome::OtherBranch(required));
            }
        }
        let organization = transaction.organization();
        sqlx::query!(
            "update jobs set proven_branch = $3 where organization_id = $1 and id = $2",
            organization,
            credentials.job.uuid(),
            branch,
        )
        .execute(transaction.connection())
        .await?;
        transaction.commit().await?;
        Ok(CheckoutOutcome::Recorded)
    }
}

impl OrgTransaction {
    /// Returns what the checkout of a job has to prove; `None` if nothing.
    async fn proof_of(
        &mut self,
        job: JobId,
        own: &AuthenticatedJob,
    ) -> Result<Option<BranchProof>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            "select j.must_prove, d.purpose, d.branch
             from jobs j join deployments d on d.organization_id = $1 and d.id = j.deployment_id
             where j.organization_id = $1 and j.id = $2",
            organization,
            job.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        if !row.must_prove {
            return Ok(None);
        }
        let definition = self.definition_of(own.pipeline_id, own.definition_version).await?;
        let purpose = parse_column("deployments.purpose", &row.purpose)?;
        let stage = definition.stage(&own.stage);
        Ok(stage.and_then(|stage| required_proof(&definition, purpose, stage, row.branch.as_deref())))
    }

    /// Locks the deployment and replaces a short commit id by the full one. Returns the deployment's commit
    /// if the reported one differs from it.
    pub(super) async fn resolve_commit(
        &mut self,
        deployment: DeploymentId,
        commit: &str,
    ) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        let requested = sqlx::query_scalar!(
            "select commit_id from deployments where organization_id = $1 and id = $2 for update",
            organization,
            deployment.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        if !commit.starts_with(&requested) {
            return Ok(Some(requested));
        }
        if commit.len() > requested.len() {
            sqlx::query!(
                "update deployments set commit_id = $3 where organization_id = $1 and id = $2",
                organization,
                deployment.uuid(),
                commit,
            )
            .execute(self.connection())
            .await?;
        }
        Ok(None)
    }
}
