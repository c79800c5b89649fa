//! Reads analyses with their feedback.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::analysis::{AnalysisReason, AnalysisStatus};
use greenroom_domain::failure::{Category, VerdictKind};
use greenroom_domain::id::{
    AnalysisId, DeploymentId, FailureId, OrganizationId, PipelineId, StepRunId, UserId,
};
use greenroom_domain::model::Explanation;
use jiff::Timestamp;
use sqlx::PgConnection;

use super::explain::{ModelName, parse_explanation};
use crate::error::{from_column, parse_column, parse_nullable_column};
use crate::page::{Page, PageResult, Total};
use crate::{Command, Store, StoreError};

/// How many entries of feedback a record contains.
const MAX_FEEDBACK: i64 = 10;

#[derive(Clone, Debug, PartialEq)]
pub struct AnalysisRecord {
    pub id: AnalysisId,
    pub pipeline_id: PipelineId,
    pub deployment_id: DeploymentId,
    pub failure_id: FailureId,
    pub stage_key: String,
    pub attempt: u32,
    pub step_run_id: Option<StepRunId>,
    pub step: Option<String>,
    pub status: AnalysisStatus,
    pub reason: Option<AnalysisReason>,
    /// Why there is no explanation, in addition to the reason.
    pub detail: Option<String>,
    /// `None` until the evidence is there.
    pub findings: Option<Findings>,
    /// The model that was called, or whose explanation is used again.
    pub model: Option<ModelName>,
    pub explanation: Option<Explanation>,
    pub reused_from: Option<AnalysisId>,
    pub created_by: UserId,
    pub created_by_name: String,
    pub created_at: Timestamp,
    pub deadline_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// The newest first.
    pub feedback: Vec<FeedbackRecord>,
}

/// What the evidence was when an analysis ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    pub category: Category,
    pub fingerprint: String,
    /// The decisive line, at most 240 bytes.
    pub decisive: String,
    /// Its number; 0 if it is not a line of the log.
    pub decisive_line: u64,
    pub verdict: VerdictKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedbackRecord {
    pub user_id: UserId,
    pub user_name: String,
    pub helpful: bool,
    pub comment: Option<String>,
    pub given_at: Timestamp,
}

struct Row {
    id: uuid::Uuid,
    pipeline_id: uuid::Uuid,
    deployment_id: uuid::Uuid,
    failure_id: uuid::Uuid,
    stage_key: String,
    attempt: i32,
    step_run_id: Option<uuid::Uuid>,
    step: Option<String>,
    status: String,
    reason: Option<String>,
    detail: Option<String>,
    model_host: Option<String>,
    model_name: Option<String>,
    explanation: Option<serde_json::Value>,
    reused_from: Option<uuid::Uuid>,
    category: Option<String>,
    fingerprint: Option<String>,
    decisive: Option<String>,
    decisive_line: Option<i64>,
    verdict: Option<String>,
    created_by: uuid::Uuid,
    created_by_name: String,
    created_at: jiff_sqlx::Timestamp,
    deadline_at: jiff_sqlx::Timestamp,
    ended_at: Option<jiff_sqlx::Timestamp>,
}

impl Row {
    fn record(self, feedback: Vec<FeedbackRecord>) -> Result<AnalysisRecord, StoreError> {
        let category = parse_nullable_column("analyses.category", self.category.as_deref())?;
        let verdict = parse_nullable_column("analyses.verdict", self.verdict.as_deref())?;
        let findings = match (category, verdict, self.fingerprint) {
            (Some(category), Some(verdict), Some(fingerprint)) => Some(Findings {
                category,
                fingerprint,
                decisive: self.decisive.unwrap_or_default(),
                decisive_line: from_column("analyses.decisive_line", self.decisive_line.unwrap_or_default())?,
                verdict,
            }),
            _ => None,
        };
        Ok(AnalysisRecord {
            id: self.id.into(),
            pipeline_id: self.pipeline_id.into(),
            deployment_id: self.deployment_id.into(),
            failure_id: self.failure_id.into(),
            stage_key: self.stage_key,
            attempt: from_column("failures.attempt", self.attempt)?,
            step_run_id: self.step_run_id.map(Into::into),
            step: self.step,
            status: parse_column("analyses.status", &self.status)?,
            reason: parse_nullable_column("analyses.reason", self.reason.as_deref())?,
            detail: self.detail,
            findings,
            model: self.model_host.zip(self.model_name).map(|(host, name)| ModelName { host, name }),
            explanation: self.explanation.map(parse_explanation).transpose()?,
            reused_from: self.reused_from.map(Into::into),
            created_by: self.created_by.into(),
            created_by_name: self.created_by_name,
            created_at: self.created_at.to_jiff(),
            deadline_at: self.deadline_at.to_jiff(),
            ended_at: self.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
            feedback,
        })
    }
}

/// Selects analyses; `$end` is the rest of the statement after the `from`.
macro_rules! record_query {
    ($end:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            "select a.id, f.pipeline_id, f.deployment_id, a.failure_id, f.stage_key, f.attempt, f.step_run_id, f.step, a.status,
                    a.reason, a.detail, a.model_host, a.model_name, a.explanation, a.reused_from, a.category, a.fingerprint, a.decisive, a.decisive_line, a.verdict, a.created_by,
                    a.created_by_name, a.created_at, a.deadline_at, a.ended_at
             from analyses a join failures f on f.organization_id = $1 and f.id = a.failure_id " + $end,
            $($argument),*
        )
    };
}

#[boxed_futures]
impl Store {
    pub async fn analysis(
        &self,
        organization: OrganizationId,
        id: AnalysisId,
    ) -> Result<Option<AnalysisRecord>, StoreError> {
        let mut connection = self.pool().acquire().await?;
        read(&mut connection, organization.uuid(), id).await
    }

    /// Returns the analyses of a deployment, newest first. Their number is limited for each of its failures.
    pub async fn analyses_of_deployment(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
        page: Page,
    ) -> Result<PageResult<AnalysisRecord>, StoreError> {
        let mut connection = self.pool().acquire().await?;
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from analyses a
               join failures f on f.organization_id = $1 and f.id = a.failure_id
               where a.organization_id = $1 and f.deployment_id = $2"#,
            organization.uuid(),
            deployment.uuid(),
        )
        .fetch_one(&mut *connection)
        .await?;
        let rows = record_query!(
            "where a.organization_id = $1 and f.deployment_id = $2 order by a.id desc limit $3 offset $4",
            organization.uuid(),
            deployment.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&mut *connection)
        .await?;
        let ids: Vec<uuid::Uuid> = rows.iter().map(|row| row.id).collect();
        let mut feedback = read_feedback(&mut connection, organization.uuid(), &ids).await?;
        let rows = rows.into_iter().map(|row| {
            let of_row = feedback.remove(&row.id).unwrap_or_default();
            row.record(of_row)
        });
        Ok(PageResult { rows: rows.collect::<Result<_, _>>()?, total: Total::exactly(total) })
    }
}

#[boxed_futures]
impl Command {
    /// Returns an analysis as this command has changed it.
    pub async fn analysis(&mut self, id: AnalysisId) -> Result<Option<AnalysisRecord>, StoreError> {
        let organization = self.organization();
        read(self.connection(), organization, id).await
    }
}

async fn read(
    connection: &mut PgConnection,
    organization: uuid::Uuid,
    id: AnalysisId,
) -> Result<Option<AnalysisRecord>, StoreError> {
    let row = record_query!("where a.organization_id = $1 and a.id = $2", organization, id.uuid())
        .fetch_optional(&mut *connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let mut feedback = read_feedback(connection, organization, &[row.id]).await?;
    let of_row = feedback.remove(&row.id).unwrap_or_default();
    row.record(of_row).map(Some)
}

async fn read_feedback(
    connection: &mut PgConnection,
    organization: uuid::Uuid,
    ids: &[uuid::Uuid],
) -> Result<HashMap<uuid::Uuid, Vec<FeedbackRecord>>, StoreError> {
    let rows = sqlx::query!(
        r#"select g.analysis_id as "analysis_id!", g.user_id as "user_id!", g.user_name as "user_name!",
                  g.helpful as "helpful!", g.comment as "comment?", g.given_at as "given_at!"
           from unnest($2::uuid[]) as wanted (id)
           cross join lateral (
               select analysis_id, user_id, user_name, helpful, comment, given_at from analysis_feedback
               where organization_id = $1 and analysis_id = wanted.id
               order by given_at desc, user_id limit $3
           ) g"#,
        organization,
        ids,
        MAX_FEEDBACK,
    )
    .fetch_all(connection)
    .await?;
    let mut feedback: HashMap<uuid::Uuid, Vec<FeedbackRecord>> = HashMap::new();
    for row in rows {
        feedback.entry(row.analysis_id).or_default().push(FeedbackRecord {
            user_id: row.user_id.into(),
            user_name: row.user_name,
            helpful: row.helpful,
            comment: row.comment,
            given_at: row.given_at.to_jiff(),
        });
    }
    Ok(feedback)
}
