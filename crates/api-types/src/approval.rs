//! Approvals: what people agree to before a stage begins.

use greenroom_domain::approval as domain;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;
use crate::person::Person;

open_enum!(
    ApprovalStatus(domain::ApprovalStatus),
    "The status of an approval. `pending`: it waits for votes; `expired`: not decided in time; `canceled`: its stage ended; \
     `invalidated`: what was to be approved has changed; `superseded`: a newer deployment was approved for the same stage."
);
open_enum!(VoteDecision(domain::VoteChoice), "What a person has voted.");

/// An approval of one stage of a deployment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    #[schema(example = "apr_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub status: ApprovalStatus,
    pub pipeline_id: String,
    pub deployment_id: String,
    /// The key of the stage.
    pub stage: String,
    /// The environment that the stage deploys to; null if it deploys to none.
    pub environment: Option<String>,
    /// What people agree to.
    pub subject: ApprovalSubject,
    /// A vote has to name this digest, so that people agree to what they have read.
    #[schema(example = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")]
    pub subject_digest: String,
    /// All of them have to be met. Each person counts for one of them.
    pub rules: Vec<ApprovalRule>,
    /// How many approvals are needed in all.
    pub needed: u32,
    /// How many of them are there.
    pub have: u32,
    /// How many people could approve when it was opened.
    pub eligible: u32,
    /// False if these people could not meet the rules when it was opened.
    pub satisfiable: bool,
    /// Whether those behind the deployment may approve it.
    pub self_approval: bool,
    /// The message of the definition for the approvers.
    pub message: Option<String>,
    pub created_at: Timestamp,
    /// When it expires, unless it is decided before.
    pub expires_at: Timestamp,
    pub decided_at: Option<Timestamp>,
    /// Set if it is approved: the first step has to start before.
    pub valid_until: Option<Timestamp>,
    /// Set if it was overridden.
    pub overridden: Option<ApprovalOverride>,
}

/// An approval with its votes.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDetails {
    #[serde(flatten)]
    pub approval: Approval,
    /// The votes, the oldest first. A person has one.
    pub votes: Vec<ApprovalVote>,
    /// The people who saved the versions of the definition with which the stage had not succeeded in the environment yet when
    /// the approval was opened. They are behind the deployment, like the person who started it.
    pub authors: Vec<Person>,
    /// What is new since the stage last succeeded in the environment; null if it never did.
    pub changes: Option<ApprovalChanges>,
}

/// What is new since a deployment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalChanges {
    /// The deployment that is live in the environment, or in which the stage last succeeded.
    pub deployment_id: String,
    /// When it succeeded.
    pub at: Timestamp,
    /// The commits; null if it is the same.
    pub commit: Option<ApprovalChange>,
    /// The digests of the definitions; null if it is the same.
    pub definition: Option<ApprovalChange>,
    /// The steps that were added, removed, or have another image or version.
    pub steps: Vec<ApprovalStepChange>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalChange {
    pub before: String,
    pub after: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalStepChange {
    pub name: Option<String>,
    /// The image or the step of a registry; null if the step was added.
    pub before: Option<String>,
    /// Null if the step was removed.
    pub after: Option<String>,
}

/// What a stage will do.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalSubject {
    /// The digest of the pipeline's definition.
    pub definition: String,
    pub stage: String,
    pub environment: Option<String>,
    pub commit_id: String,
    /// The branch that the deployment names. Null if it names none, or if the pipeline has no repository.
    pub branch: Option<String>,
    pub steps: Vec<ApprovalStep>,
    /// The stages whose artifacts and outputs it gets.
    pub needs: Vec<ApprovalNeed>,
    /// The caches that it gets.
    pub caches: Vec<ApprovalCache>,
    /// The names of the secrets that its steps get.
    pub secrets: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalStep {
    pub name: Option<String>,
    pub image: Option<String>,
    /// The reference to a step of a registry.
    pub uses: Option<String>,
    /// The version of the step that the definition has locked.
    #[schema(example = "2.3.0")]
    pub version: Option<String>,
    /// The digest of that version's content.
    pub digest: Option<String>,
    /// The image is named by a tag, whose content may change.
    pub unpinned: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalNeed {
    pub stage: String,
    /// The SHA-256 of its artifact; null if it has none.
    pub artifact: Option<String>,
    /// The digest of its outputs.
    pub outputs: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalCache {
    pub key: String,
    /// The SHA-256 of its archive.
    pub sha256: String,
}

/// Some people who have to agree.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRule {
    /// Names of groups.
    pub groups: Vec<String>,
    pub roles: Vec<String>,
    /// E-mail addresses or ids.
    pub users: Vec<String>,
    pub count: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalOverride {
    pub by: Person,
    pub reason: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalVote {
    pub by: Person,
    pub decision: VoteDecision,
    pub comment: Option<String>,
    pub at: Timestamp,
    /// Set if the vote was withdrawn. It does not count.
    pub withdrawn_at: Option<Timestamp>,
    /// Who enrolled the voter with a sign-in link, or added the voter to the organization. Null if an identity provider or the
    /// operator has confirmed who the voter is, or if it is not known.
    pub enrolled_by: Option<Person>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Approve {
    /// The `subjectDigest` of the approval that was read.
    #[schema(pattern = "^sha256:[0-9a-f]{64}$")]
    pub subject_digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 500)]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reject {
    /// The `subjectDigest` of the approval that was read.
    #[schema(pattern = "^sha256:[0-9a-f]{64}$")]
    pub subject_digest: String,
    #[schema(min_length = 1, max_length = 500)]
    pub comment: String,
}

/// A gate before a stage.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverridableGate {
    Approval,
    Freeze,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OverrideGates {
    /// Shown on the deployment for ever.
    #[schema(min_length = 1, max_length = 500)]
    pub reason: String,
    #[schema(min_items = 1, max_items = 2)]
    pub gates: Vec<OverridableGate>,
}

/// An override of the gates of a stage.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateOverride {
    pub gates: Vec<String>,
    pub reason: String,
    pub by: Person,
    pub at: Timestamp,
}
