//! Failures that are remembered, and notes about them.

use greenroom_domain::failure as domain;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;
use crate::person::Person;

open_enum!(
    EvidenceStatus(domain::EvidenceStatus),
    "`collecting`: a worker reads the log; read again in a second. `ready`: everything is there."
);
open_enum!(
    FailureEndKind(domain::EndKind),
    "What ended a failure. `commit`: another commit; `definition`: the same commit with another definition; `retry`: the same \
     commit and definition; `elsewhere`: it was good in another place only."
);
open_enum!(FailureCategory(domain::Category), "What a failure is about.");
open_enum!(
    FailureVerdict(domain::VerdictKind),
    "Whose failure it is. `platform`: Greenroom or what it needs failed; `flaky`: the same commit has also passed here; \
     `not_only_you`: changes of others fail in the same way; `environment`: the commit passes elsewhere, or commits of others fail \
     here; `yours`: it was good before, something was changed since, and nobody else fails like this."
);

/// One failed attempt of a stage.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    #[schema(example = "fai_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub status: EvidenceStatus,
    pub pipeline_id: String,
    pub deployment_id: String,
    /// The key of the stage.
    pub stage: String,
    pub attempt: u32,
    pub step: Option<String>,
    pub environment: Option<String>,
    pub commit_id: String,
    pub created_by: Person,
    pub failed_at: Timestamp,
    /// Null while the evidence is being collected, as are the next three.
    pub category: Option<FailureCategory>,
    pub verdict: Option<FailureVerdict>,
    /// Equal failures of a step have the same one.
    pub fingerprint: Option<String>,
    /// The decisive line, at most 240 bytes.
    pub line: Option<String>,
}

/// All failures with one fingerprint.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureHistory {
    pub fingerprint: String,
    pub count: u64,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    /// What ended the last one.
    pub ended_by: Option<FailureEnd>,
    pub note: Option<FailureNote>,
    /// The newest ones, 20 at most.
    pub failures: Vec<Failure>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureEnd {
    pub kind: FailureEndKind,
    pub deployment_id: String,
    pub commit_id: String,
    pub at: Timestamp,
}

/// What a member has written about failures with one fingerprint.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureNote {
    pub text: String,
    pub written_by: Person,
    pub written_at: Timestamp,
}

#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WriteFailureNote {
    /// At most 2,000 characters. An empty text deletes the note.
    #[schema(max_length = 2000)]
    pub text: String,
}
