//! What a job has checked out: the full id of its commit, and the branch that was proven.

use greenroom_domain::id::DeploymentId;

use super::JobWord;
use crate::change::Change;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckoutRecorded {
    Yes,
    /// The job is not this runner's, or not any more.
    Gone,
    /// The deployment is of this commit, with which the reported one does not begin.
    OtherCommit(String),
}

impl Store {
    /// Records the full id of the commit and the proven branch. The first report of a deployment decides what a short id
    /// stands for: all of its jobs have to check out the same commit.
    pub async fn record_checkout(
        &self,
        word: JobWord<'_>,
        commit: &str,
        branch: Option<&str>,
    ) -> Result<CheckoutRecorded, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let Some(deployment) = change.deployment_of(word.job).await? else {
            return Ok(CheckoutRecorded::Gone);
        };
        // The deployment is locked before the job, as everywhere.
        let before = change.resolve_commit(deployment, commit).await?;
        if change.own_job(word).await?.is_none() {
            return Ok(CheckoutRecorded::Gone);
        }
        if let Some(other) = before {
            return Ok(CheckoutRecorded::OtherCommit(other));
        }
        let organization = change.organization();
        sqlx::query!(
            "update jobs set proven_branch = $3 where organization_id = $1 and id = $2",
            organization,
            word.job.uuid(),
            branch,
        )
        .execute(change.connection())
        .await?;
        change.commit().await?;
        Ok(CheckoutRecorded::Yes)
    }
}

impl Change {
    /// Locks the deployment and replaces a short commit id by the full one. `Some` with the deployment's commit if the
    /// reported one is another.
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
