//! Requests and responses of runners. A job is one attempt of one stage. Every call has the runner's token
//! (`Authorization: Bearer grr_…`), and every call about a job also the job's token (`X-Greenroom-Job-Token: grj_…`).

use std::collections::BTreeMap;

use greenroom_domain::runner_pool::Network as DomainNetwork;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The header with a job's token.
pub const JOB_TOKEN_HEADER: &str = "x-greenroom-job-token";
/// The header with the number of jobs that a runner runs concurrently, in its requests for a job. The server allows one
/// more such request than that.
pub const CONCURRENCY_HEADER: &str = "x-greenroom-concurrency";

/// Requests a job, and waits for one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Acquire {
    /// How long to wait for one: 30 at most, and if left out. `204` if none came.
    #[serde(default)]
    pub wait_seconds: Option<u32>,
    /// The version of the runner, for display.
    #[serde(default)]
    pub version: Option<String>,
}

/// Everything that a runner needs to run a stage.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    #[schema(example = "job_0190a0b0-0000-7000-8000-000000000001")]
    pub job_id: String,
    /// Shown here and never again.
    pub job_token: String,
    /// How long the job stays the runner's after a heartbeat was answered. Its steps must have ended by then.
    pub lease_seconds: u32,
    /// How often to send a heartbeat.
    pub heartbeat_seconds: u32,
    /// How long a step continues without a sign of life from its runner.
    pub silence_seconds: u32,
    pub organization_id: String,
    pub pipeline_id: String,
    /// The pipeline's slug.
    pub pipeline: String,
    pub deployment_id: String,
    pub stage: String,
    /// From 1.
    pub attempt: u32,
    /// What is checked out; null if the pipeline has no repository.
    pub source: Option<Source>,
    /// How long the stage may run.
    pub timeout_seconds: u64,
    /// What may be written to the log of one step. A step that writes more fails.
    pub log_limit_bytes: u64,
    /// Whether steps may reach the network.
    pub network: Network,
    /// Unpacked into the workspace before the first step: what the stages before it have left.
    pub inputs: Vec<Artifact>,
    /// Kept for the stages after it, if all steps succeed: files and folders of the workspace.
    pub artifacts: Vec<String>,
    /// Kept from one run to the next, as far as they are still there.
    pub caches: Vec<Cache>,
    /// In the order in which they run.
    pub steps: Vec<JobStep>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub repository: String,
    /// A short one is resolved by the checkout, and reported by `POST …/checkout`.
    pub commit_id: String,
    /// What the checkout has to prove of the commit before caches are restored and before the first step; null if nothing.
    /// A commit for which it can't be proven ends the job as `failed` with `commit_not_on_branch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_be_on: Option<MustBeOn>,
}

/// The branches that a commit has to be on. With neither of the two it has to be on some branch of the repository.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MustBeOn {
    /// The branch that the deployment names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// One of these: the `branches` of the lasting environment that the stage deploys to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<String>,
}

/// What was checked out. Reported once, before caches are restored and before the first step.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckedOut {
    /// The commit's full id: 40 or 64 hexadecimal digits that begin with the id which was requested. The first report of a
    /// deployment's jobs decides; a job that reports another commit is rejected.
    pub commit_id: String,
    /// The branch that the commit was proven to be on, if one had to be.
    #[serde(default)]
    pub branch: Option<String>,
}

/// A mistake that a retry can't fix.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermanentFailure {
    /// The repository has no such commit.
    CommitNotFound,
    /// The commit is not on the branch that the deployment names or the environment demands.
    CommitNotOnBranch,
    /// The address is not that of a repository which the runner may read.
    RepositoryUnavailable,
    /// The registry has no such image, or denies access to it.
    ImageNotFound,
}

/// The network of the steps that a pool's runners execute.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// No network.
    None,
    /// Everything that the runner's machine reaches.
    Bridge,
    /// The machine's own network.
    Host,
}

impl From<DomainNetwork> for Network {
    fn from(network: DomainNetwork) -> Self {
        match network {
            DomainNetwork::None => Self::None,
            DomainNetwork::Bridge => Self::Bridge,
            DomainNetwork::Host => Self::Host,
        }
    }
}

impl From<Network> for DomainNetwork {
    fn from(network: Network) -> Self {
        match network {
            Network::None => Self::None,
            Network::Bridge => Self::Bridge,
            Network::Host => Self::Host,
        }
    }
}

/// What a stage has left: a tar archive, by `GET …/artifacts/{artifactId}`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    pub artifact_id: String,
    pub stage: String,
    pub size: u64,
    pub sha256: String,
}

/// Files and folders of the workspace under a name: `GET` and `PUT …/caches/{key}`, a tar archive.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cache {
    pub key: String,
    pub paths: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStep {
    #[schema(example = "stp_0190a0b0-0000-7000-8000-000000000001")]
    pub step_run_id: String,
    pub name: String,
    pub image: String,
    /// A script for `/bin/sh`.
    pub run: String,
    /// Its complete environment: the variables of the pipeline, and the platform's `GREENROOM_…`.
    pub variables: BTreeMap<String, String>,
    pub timeout_seconds: Option<u64>,
}

/// Renews the job's lease.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    pub lease_seconds: u32,
    /// The job has to be ended; repeated with every heartbeat.
    pub cancel: Option<Cancel>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    /// How long the step may take to end after the request, before it is killed.
    pub grace_seconds: u32,
    pub reason: String,
}

/// A step is about to start. The body may be left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepStart {
    /// What the step's image stood for when the job was made ready: the digest of its manifest, or of its configuration if it
    /// has never been in a registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^sha256:[0-9a-f]{64}$")]
    pub image_digest: Option<String>,
}

/// How a step ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepEnd {
    pub status: StepEndStatus,
    /// The exit code of the step's program.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// What went wrong, for people.
    #[serde(default)]
    pub reason: Option<String>,
    /// What it wrote to the file `$GREENROOM_OUTPUT`.
    #[serde(default)]
    pub outputs: BTreeMap<String, String>,
    /// The total length of its log, so that missing parts are detected.
    #[serde(default)]
    pub log_bytes: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepEndStatus {
    Succeeded,
    /// The step failed.
    Failed,
    /// The platform failed.
    Errored,
    Canceled,
}

/// What the server has of a step's log.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogSize {
    pub bytes: u64,
}

/// The end of a job. How it went follows from its steps; this is for what happened outside of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Complete {
    /// Why it could not be carried out: the checkout failed, an image could not be had. Then the attempt has errored, unless
    /// there is a `failure`.
    #[serde(default)]
    pub error: Option<String>,
    /// The time of the stage, or of one of its steps, was over. Then the attempt has failed.
    #[serde(default)]
    pub timed_out: bool,
    /// The commit that was checked out, in full; only from runners that don't report it by `POST …/checkout`.
    #[serde(default)]
    pub commit_id: Option<String>,
    /// Why a retry can't help. Then the attempt has failed with this reason, and `error` contains details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<PermanentFailure>,
}
