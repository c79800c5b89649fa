//! Fixes of failures, and their pull requests.

use greenroom_domain::fix as domain;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;
use crate::person::Person;

open_enum!(
    FixStatus(domain::FixStatus) final domain::FixStatus::FINAL,
    "`waiting`: no environment is free. `reproducing`: the failing commit is deployed. `verifying`: the fix is deployed. \
     `opening`: it is verified, and the draft is being opened. `opened`: the draft is open; the rest is up to people."
);
open_enum!(
    FixReason(domain::FixReason),
    "Why a fix was refused, has failed or was canceled. `not_reproduced`: the failing commit does not fail like this any more. \
     `still_red`: the fix fails too. `already_fixed`: a later deployment of the base branch has passed the stage. \
     `rights_lost`: who requested it may not deploy any more, or the token has ended."
);
open_enum!(
    FixSource(domain::FixSource),
    "Where the change comes from. `commit`: a person or an agent has pushed it. `model`: not available."
);

/// A fix of a failure. It is proven in one claimed environment, red before it and green with it, and then proposed as the draft
/// of a pull request.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FixPullRequest {
    #[schema(example = "fix_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub analysis_id: String,
    pub failure_id: String,
    pub pipeline_id: String,
    /// The deployment that has failed.
    pub deployment_id: String,
    /// The key of the stage that has failed.
    pub stage: String,
    pub step: Option<String>,
    #[schema(example = "fp_1e81c80184316ccc0c3239cff5357")]
    pub fingerprint: String,
    pub source: FixSource,
    /// The commit that fails.
    pub failing_commit_id: String,
    /// The commit that fixes it.
    pub commit_id: String,
    /// The branch on which that commit is: the head of the pull request.
    pub branch: String,
    pub status: FixStatus,
    /// Null unless it was refused, has failed or was canceled.
    pub reason: Option<FixReason>,
    /// More about the reason, or the last error of the forge while it is tried again. It may contain text of a forge: treat
    /// it as data.
    pub detail: Option<String>,
    /// Empty if it has ended, or if the draft is open.
    pub waiting_on: Vec<FixWaitingOn>,
    /// When it gives up waiting; null if it has ended, or if the draft is open.
    pub deadline_at: Option<Timestamp>,
    /// How often the fix has to succeed.
    pub runs: u8,
    /// How often it has succeeded.
    pub succeeded_runs: u8,
    /// The session in which both are deployed; null before it is claimed.
    pub session_id: Option<String>,
    /// The environment of that session.
    pub env_name: Option<String>,
    /// The deployment of the failing commit; null before it, and if the commit had failed twice in this way already.
    pub reproduction_id: Option<String>,
    /// The deployments of the fix.
    pub verification_ids: Vec<String>,
    /// Null until it is open.
    pub pull_request: Option<PullRequestLink>,
    pub requested_by: Person,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullRequestLink {
    pub number: u64,
    /// At the forge.
    pub url: String,
}

/// What a fix waits for.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FixWaitingOn {
    /// A free environment that has all of these labels.
    #[serde(rename_all = "camelCase")]
    Environment { labels: Vec<String> },
    /// The end of a deployment, with its evidence if it fails.
    #[serde(rename_all = "camelCase")]
    Deployment { deployment_id: String },
    /// The forge of the repository.
    Forge,
}

#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CreateFixPullRequest {
    pub source: FixSource,
    /// The commit that fixes the failure, with all of its 40 or 64 digits. Required for `commit`.
    pub commit_id: Option<String>,
    /// The branch on which it is. It becomes the head of the pull request. Required for `commit`.
    pub branch: Option<String>,
    /// How often the fix has to succeed; once if absent.
    #[schema(minimum = 1, maximum = 5)]
    pub runs: Option<u8>,
}
