//! Requests and responses of runners. A job is one attempt of one stage. Every call has the runner's token
//! (`Authorization: Bearer grr_…`), and every call about a job also the job's token (`X-Greenroom-Job-Token:
//! grj_…`).

mod step;

use std::fmt;

use greenroom_domain::runner_pool::Network as DomainNetwork;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use self::step::{
    JobRegistryStep, JobStep, LogSize, RefreshedIdTokens, StepEnd, StepEndStatus, StepIdToken, StepSecret,
    StepStart, StepStarted,
};
use crate::deployment_status::DeploymentReason;

/// The header with a job's token.
pub const JOB_TOKEN_HEADER: &str = "x-greenroom-job-token";
/// The header with the number of jobs that a runner runs concurrently, in its requests for a job. The server
/// allows one more such request than that.
pub const CONCURRENCY_HEADER: &str = "x-greenroom-concurrency";

/// The header of a heartbeat with which a runner reports that it takes no more jobs and shuts down when its own
/// have ended: `true`. Its next request for a job revokes this.
pub const DRAINING_HEADER: &str = "x-greenroom-draining";

/// The maximum size of the archive of a step: 8 MiB of files, and the headers of 256 files.
pub const MAX_STEP_ARCHIVE_BYTES: u64 = 9 * 1024 * 1024;

/// A request for a job. The response is sent when there is one, or after a timeout.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Acquire {
    /// How long to wait for a job: at most 30, which is also the default. The response is `204` if there was
    /// no job.
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
    /// The job's token. Only this response contains it.
    pub job_token: String,
    /// How long the runner keeps the job after a heartbeat that succeeded. If no further heartbeat succeeds,
    /// the steps must have ended by then.
    pub lease_seconds: u32,
    /// The interval between heartbeats.
    pub heartbeat_seconds: u32,
    /// How long a step continues to run without a sign of life from its runner.
    pub silence_seconds: u32,
    pub organization_id: String,
    pub pipeline_id: String,
    /// The pipeline's slug.
    pub pipeline: String,
    pub deployment_id: String,
    pub stage: String,
    /// The number of the attempt, starting at 1.
    pub attempt: u32,
    /// The commit to check out; null if the pipeline has no repository.
    pub source: Option<Source>,
    /// How long the stage may run.
    pub timeout_seconds: u64,
    /// The maximum size of one step's log. A step that writes more fails.
    pub log_limit_bytes: u64,
    /// The network access of the steps.
    pub network: Network,
    /// The artifacts of earlier stages. They are unpacked into the workspace before the first step.
    pub inputs: Vec<Artifact>,
    /// Files and folders of the workspace that are kept for later stages if all steps succeed.
    pub artifacts: Vec<String>,
    /// Files and folders that are kept from one run to the next. A cache may have been deleted in the
    /// meantime.
    pub caches: Vec<Cache>,
    /// The steps, in the order in which they run.
    pub steps: Vec<JobStep>,
    /// The trace that the job belongs to, as W3C Trace Context writes it; absent if the deployment is not traced. Steps get it, or what
    /// the runner records below it, as the variable `TRACEPARENT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub repository: String,
    /// The commit's id. If it is abbreviated, the runner resolves it at checkout and reports the full id by
    /// `POST …/checkout`.
    pub commit_id: String,
    /// The branches that the commit has to be on; null if any commit is allowed. The runner verifies this
    /// before it restores caches and before the first step. If it can't be verified, the job ends as `failed`
    /// with `commit_not_on_branch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_be_on: Option<MustBeOn>,
    /// Set if submodules are checked out as well; LFS files never are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submodules: Option<Submodules>,
}

/// Which submodules the runner may fetch. Each address in a `.gitmodules` has to be one of https, without a user
/// name, on one of the hosts. Otherwise the job fails, and nothing connects to the address.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Submodules {
    /// Hosts, with a port if that is not 443.
    pub hosts: Vec<String>,
}

/// The branches that a commit has to be on. If both fields are left out, it has to be on any branch of the
/// repository.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MustBeOn {
    /// The branch that the deployment names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The `branches` of the lasting environment that the stage deploys to. The commit has to be on one of
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<String>,
}

/// The commit that was checked out. A runner reports it once, before it restores caches and before the first
/// step.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckedOut {
    /// The commit's full id: 40 or 64 hexadecimal digits, beginning with the requested id. The first report
    /// of any job of the deployment determines the commit; a later report of another commit is rejected.
    pub commit_id: String,
    /// The branch on which the runner found the commit: the one that `source.mustBeOn` names, else one of its `anyOf`. Null
    /// if no branch was required. Another branch is refused with `422`.
    #[serde(default)]
    pub branch: Option<String>,
}

/// The reason of a failure that a retry can't fix.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermanentFailure {
    /// The repository has no such commit.
    CommitNotFound,
    /// The commit is not on the branch that the deployment names, or not on one that the environment
    /// requires.
    CommitNotOnBranch,
    /// There is no repository at the URL, or the runner may not read it.
    RepositoryUnavailable,
    /// The address of a submodule is not https on a host that the stage lists.
    CheckoutHostNotAllowed,
    /// The registry has no such image, or denies access to it.
    ImageNotFound,
    /// A rule denies the credential for the repository or the registry to this job, or its value is not one.
    SecretDenied,
    /// The files of a step of a registry do not have the digest that the definition has locked.
    StepDigestMismatch,
}

/// The network of the steps that a pool's runners execute.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// No network.
    None,
    /// A separate network with access to everything that the runner's machine can reach.
    Bridge,
    /// The network of the runner's machine itself.
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

/// The files that a stage has kept for later stages, as a tar archive: `GET …/artifacts/{artifactId}`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    pub artifact_id: String,
    pub stage: String,
    /// The files and folders of the workspace that the stage declares: the archive has nothing else.
    pub paths: Vec<String>,
    pub size: u64,
    pub sha256: String,
}

/// Files and folders of the workspace that are kept under a key, as a tar archive: `GET` and `PUT
/// …/caches/{key}`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cache {
    pub key: String,
    pub paths: Vec<String>,
}

/// The response to a heartbeat, which renews the job's lease.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    pub lease_seconds: u32,
    /// Set if the runner has to end the job, in the response to every heartbeat from then on; else null.
    pub cancel: Option<Cancel>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    /// How long the running step may take to end before it is killed.
    pub grace_seconds: u32,
    pub reason: DeploymentReason,
}

/// A request for the credential with which the runner itself fetches the repository or pulls images.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CredentialRequest {
    pub kind: CredentialKind,
    /// The host that it is for; with a port if that is not 443. The runner sends the credential to this host only,
    /// by https, and to no other one that it is redirected to.
    #[schema(example = "git.example.com")]
    pub host: String,
    /// The address of the repository that is fetched, for a checkout. Without it the request is for the pipeline's
    /// repository, and if the stage fetches submodules from this host, for credentials of all repositories only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://git.example.com/acme/shop.git")]
    pub repository: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    Checkout,
    Registry,
}

/// The response to a request for a credential. No step gets any of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialResponse {
    /// Null if there is none for this host: the runner continues without one.
    pub credential: Option<Credential>,
    /// Why a credential that exists is denied, for the job's error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
}

/// A credential. `Debug` leaves the value out.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Credential {
    /// The secret's name, for messages.
    pub name: String,
    /// The bytes of the value, in base64: `user:password`, or a password or token alone.
    pub value: String,
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credential").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The report that a job has ended. Its result follows from its steps, unless one of these fields is set.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Complete {
    /// Why the job could not be run, for example because the checkout failed or an image was not available.
    /// The attempt then ends as `errored`, unless `failure` is set.
    #[serde(default)]
    pub error: Option<String>,
    /// Whether the stage or one of its steps exceeded its timeout. The attempt then ends as `failed`.
    #[serde(default)]
    pub timed_out: bool,
    /// The full id of the commit that was checked out. Only sent by runners that don't report it by `POST
    /// …/checkout`.
    #[serde(default)]
    pub commit_id: Option<String>,
    /// The reason why a retry can't help. The attempt then ends as `failed` with this reason, and `error`
    /// contains details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<PermanentFailure>,
}
