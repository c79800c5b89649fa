//! Analyses of failures, and feedback about them.

use greenroom_domain::analysis as domain;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::evidence::DecisiveLine;
use crate::failure::{FailureCategory, FailureVerdict};
use crate::open_enum::open_enum;
use crate::person::Person;

open_enum!(
    AnalysisStatus(domain::AnalysisStatus) final domain::AnalysisStatus::FINAL,
    "`collecting`: it waits for the evidence of the failure. `analyzing`: a model reads the evidence. `refused`: it was not permitted."
);
open_enum!(
    AnalysisReason(domain::AnalysisReason),
    "Why an analysis has failed or was refused. `evidence_not_collected`: the evidence was not there in time; request another one. `model_failed`: the model gave nothing that can be used, and `budget_exhausted`: another call would exceed a limit of the organization; in both cases everything that needs no model is there."
);
open_enum!(ModelConfidence(greenroom_domain::model::Confidence), "How sure the model is, as it states.");

/// An analysis of one failed attempt of a stage.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Analysis {
    #[schema(example = "ana_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub pipeline_id: String,
    pub deployment_id: String,
    #[schema(example = "fai_0190a0b0-0000-7000-8000-000000000001")]
    pub failure_id: String,
    /// The key of the stage.
    pub stage: String,
    /// 0 if the stage failed before its first attempt.
    pub attempt: u32,
    /// The name of the step that failed; null if no step had started.
    pub step: Option<String>,
    pub step_run_id: Option<String>,
    pub status: AnalysisStatus,
    /// Null unless it has failed or was refused.
    pub reason: Option<AnalysisReason>,
    /// More about the reason, such as the status that the model's endpoint responded with.
    pub detail: Option<String>,
    /// Empty if it has ended.
    pub waiting_on: Vec<AnalysisWaitingOn>,
    /// When it gives up waiting; null if it has ended.
    pub deadline_at: Option<Timestamp>,
    /// What the failure is about; null until the evidence is there, as are the next three.
    pub category: Option<FailureCategory>,
    /// As it was at the end of the analysis. That of the evidence may be decided again.
    pub verdict: Option<FailureVerdict>,
    /// Equal failures of a step have the same one.
    #[schema(example = "fp_1e81c80184316ccc0c3239cff5357")]
    pub fingerprint: Option<String>,
    /// The line that shows best why the step failed, at most 240 bytes. The text is that of a program: treat it as data.
    pub decisive_line: Option<DecisiveLine>,
    /// The model that was called; null without one. Everything above needs no model.
    pub model: Option<AnalysisModel>,
    /// The cause as the model has described it, at most 400 characters; null without a model, and if the evidence was not enough.
    /// The text is that of a model, which may be wrong or misled: show it as plain text, and do nothing because of it.
    pub cause: Option<String>,
    /// What the model suggests to do next: up to 3 plain texts of at most 200 characters.
    pub next: Vec<String>,
    pub created_by: Person,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// The newest 10, one per person.
    pub feedback: Vec<AnalysisFeedback>,
}

/// What an analysis waits for.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AnalysisWaitingOn {
    /// A worker collects the evidence of the failure.
    Evidence,
    /// A worker calls the model of the organization.
    Model,
}

/// The model of an analysis, and what it has selected of what it was given.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalysisModel {
    pub name: String,
    /// Where the evidence was sent to.
    pub host: String,
    /// The category that it has selected; null if there is no explanation.
    pub category: Option<FailureCategory>,
    /// The ids of the evidence that it refers to.
    #[schema(example = json!(["E1"]))]
    pub evidence: Vec<String>,
    /// The changes that it suspects, as the prompt describes them. Titles of commits are text of their authors: treat it as data.
    #[schema(example = json!(["Migrate before the seed"]))]
    pub suspects: Vec<String>,
    /// Null if there is no explanation.
    pub confidence: Option<ModelConfidence>,
    /// Whether the model states that the evidence is enough. Null if there is no explanation.
    pub enough: Option<bool>,
    /// The analysis whose explanation is used again: that of a failure with the same fingerprint and the same changes.
    pub reused_from: Option<String>,
}

/// What was sent to a model for an analysis.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalysisPrompt {
    pub analysis_id: String,
    pub model: String,
    /// Where it was sent to.
    pub host: String,
    /// Everything that was sent about the failure: instructions, data, and the schema of the response. It contains lines of the log:
    /// treat it as data.
    pub text: String,
    /// The SHA-256 of `text`, in hexadecimal digits. The event `model.called` contains it.
    pub hash: String,
    pub sent_at: Timestamp,
    /// Null until the call has ended, as are the next two.
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// Millionths of the currency of the prices.
    pub cost_micros: Option<u64>,
    /// Why the call gave nothing that can be used.
    pub error: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalysisFeedback {
    pub by: Person,
    pub helpful: bool,
    /// The text is that of the person: show it as plain text.
    pub comment: Option<String>,
    pub at: Timestamp,
}

#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CreateAnalysis {
    /// The key of the stage whose last failure is analyzed. Without it, that of the first stage that has failed.
    pub stage: Option<String>,
    /// `false`: without the model of the organization. `true`: only with it, so that a model that is not enabled is
    /// `403 analysis_disabled`, and one whose budget is exhausted is `429 budget_exhausted`. Without it, a model is used if there
    /// is one.
    pub model: Option<bool>,
}

#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GiveAnalysisFeedback {
    pub helpful: bool,
    /// At most 1,000 bytes of UTF-8.
    #[schema(max_length = 1000)]
    pub comment: Option<String>,
}
