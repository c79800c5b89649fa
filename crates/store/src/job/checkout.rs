//! Records a job's checkout: the full commit id, and the branch that was proven.

use greenroom_domain::id::DeploymentId;

use super::JobCredentials;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckoutOutcome {
    Recorded,
    /// The job is not, or no longer, assigned to this runner.
    Gone,
    /// The deployment's commit, which is not a prefix of the reported one.
    OtherCommit(String),
}

impl Store {
    /// Records the full id of the commit and the proven branch. The first report of a deployment resolves a
    /// short commit id. All of its jobs have to check out the same commit.
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
        if transaction.authenticated_job(credentials).await?.is_none() {
            return Ok(CheckoutOutcome::Gone);
        }
        if let Some(other) = other_commit {
            return Ok(CheckoutOutcome::OtherCommit(other));
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
