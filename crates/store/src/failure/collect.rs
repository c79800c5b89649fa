//! Stores what a worker has found out about a failure.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::failure::{Because, Category, Evidence, Verdict};
use greenroom_domain::id::JobId;
use serde_json::json;

use super::due::{DueFailure, LEASE};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// A verdict is decided again after this time. What other workers stored and which stages succeeded while the history was
/// read would be missed otherwise: two workers can collect failures of the same outage concurrently.
const DECIDE_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// What a worker has found in the log of a failed step.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    pub category: Category,
    pub fingerprint: String,
    /// The decisive line, at most 240 bytes.
    pub decisive: String,
    pub evidence: Evidence,
}

/// The result of a worker's work on a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    /// `None` if only the verdict was decided again.
    pub findings: Option<Findings>,
    pub verdict: Verdict,
    pub good_job: Option<JobId>,
}

#[boxed_futures]
impl Store {
    /// Returns the fingerprint and the last good attempt that were stored with the evidence.
    pub async fn stored_fingerprint(
        &self,
        due: &DueFailure,
    ) -> Result<Option<(String, Option<JobId>)>, StoreError> {
        let row = sqlx::query!(
            "select fingerprint, good_job_id from failures where organization_id = $1 and id = $2",
            due.organization_id.uuid(),
            due.id.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.and_then(|row| Some((row.fingerprint?, row.good_job_id.map(JobId::from)))))
    }

    /// Returns the last good attempt before a failure whose evidence is being collected.
    pub async fn good_job_before(&self, due: &DueFailure) -> Result<Option<JobId>, StoreError> {
        self.last_good_job(due.organization_id, &due.attempt).await
    }

    /// Stores the result of a lease. Returns false if the lease was lost. Verdicts about failures with the same
    /// fingerprint are decided again, and analyses that wait for the evidence continue.
    pub async fn store_failure(&self, due: &DueFailure, found: &Collected) -> Result<bool, StoreError> {
        let mut transaction = self.system_transaction(due.organization_id).await?;
        let organization = transaction.organization();
        let because: Vec<String> =
            found.verdict.because.iter().map(|because: &Because| because.as_str().to_owned()).collect();
        let findings = found.findings.as_ref();
        // What was marked as due during this lease stays due.
        let updated = sqlx::query!(
            "update failures
             set verdict = $4, because = $5, good_job_id = $6, category = coalesce($7, category),
                 fingerprint = coalesce($8, fingerprint), decisive = coalesce($9, decisive),
                 collected_at = coalesce(collected_at, clock_timestamp()),
                 due_at = case
                     when due_at > leased_until - $10 * interval '1 second' then due_at
                     when $8::text is not null and $4 not in ('platform', 'flaky') then clock_timestamp() + $11 * interval '1 second'
                 end,
                 leased_until = null, tries = 0
             where organization_id = $1 and id = $2 and leased_until = $3",
            organization,
            due.id.uuid(),
            jiff_sqlx::Timestamp::from(due.leased_until) as jiff_sqlx::Timestamp,
            found.verdict.kind.as_str(),
            &because,
            found.good_job.map(|job| job.uuid()),
            findings.map(|findings| findings.category.as_str()),
            findings.map(|findings| findings.fingerprint.as_str()),
            findings.map(|findings| findings.decisive.as_str()),
            LEASE.as_secs_f64(),
            DECIDE_AGAIN_AFTER.as_secs_f64(),
        )
        .execute(transaction.connection())
        .await?;
        if updated.rows_affected() == 0 {
            return Ok(false);
        }
        if let Some(findings) = findings {
            transaction.insert_evidence(due, &findings.evidence).await?;
            transaction.continue_analyses(due.id).await?;
            transaction.judge_others_again(due, &findings.fingerprint).await?;
            transaction.record_failure_event(due, findings, &found.verdict).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Ends a lease without a result. The failure is due again after a delay that grows with each try.
    pub async fn put_off_failure(&self, due: &DueFailure) -> Result<(), StoreError> {
        sqlx::query!(
            "update failures
             set leased_until = null, tries = tries + 1,
                 due_at = clock_timestamp() + least(60, power(2, tries)) * interval '1 second'
             where organization_id = $1 and id = $2 and leased_until = $3",
            due.organization_id.uuid(),
            due.id.uuid(),
            jiff_sqlx::Timestamp::from(due.leased_until) as jiff_sqlx::Timestamp,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }
}

impl OrgTransaction {
    async fn insert_evidence(&mut self, due: &DueFailure, evidence: &Evidence) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into evidence (organization_id, failure_id, document) values ($1, $2, $3)
             on conflict (organization_id, failure_id) do update set document = excluded.document",
            organization,
            due.id.uuid(),
            json!(evidence),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Makes failures of the last day with the same fingerprint due. This one may be the first of others that
    /// fails like them.
    async fn judge_others_again(&mut self, due: &DueFailure, fingerprint: &str) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update failures f set due_at = clock_timestamp()
             from (
                 select id from failures
                 where organization_id = $1 and fingerprint = $2 and id <> $3 and verdict in ('environment', 'yours', 'unknown')
                   and failed_at > clock_timestamp() - interval '24 hours' and (due_at is null or due_at > clock_timestamp())
                 order by failed_at desc limit 50 for update skip locked
             ) others
             where f.organization_id = $1 and f.id = others.id",
            organization,
            fingerprint,
            due.id.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn record_failure_event(
        &mut self,
        due: &DueFailure,
        findings: &Findings,
        verdict: &Verdict,
    ) -> Result<(), StoreError> {
        let failed = &due.attempt;
        let event = NewEvent {
            event_type: EventType::FailureRecorded,
            subject: format!("pipelines/{}/deployments/{}", failed.pipeline_id, failed.deployment_id),
            before: None,
            after: Some(json!({
                "failureId": due.id,
                "pipelineId": failed.pipeline_id,
                "deploymentId": failed.deployment_id,
                "stage": failed.stage_key,
                "attempt": failed.attempt,
                "step": failed.step,
                "category": findings.category.as_str(),
                "verdict": verdict.kind.as_str(),
                "fingerprint": findings.fingerprint,
            })),
            reason: Some(failed.reason.as_str().to_owned()),
        };
        self.record_event(event).await
    }
}
