//! Backends, which run steps. A backend has no access to the server, to logs or to leases. [`crate::job`]
//! calls it in this order:
//!
//! ```text
//! ready ─► prepare ─► start ─► wait ──────────────────────► remove
//!                       │        ▲
//!                       ▼        │
//!                     output   stop (SIGTERM) ─► kill
//! ```
//!
//! - [`Backend::sweep`], before the first job and after the last: removes everything that this runner, or a
//!   previous process of it, has left.
//! - [`Backend::ready`], once per job: prepares everything that its steps need and that may be slow or fail,
//!   such as images and a network. It gets the credentials of registries. No concurrent job has the same slot.
//! - [`Backend::prepare`]: prepares a step without running any part of it. Between this and the start, the
//!   runner requests the start from the server, whose decision may have changed while an image was pulled.
//! - [`Running::start`]: starts the step with its values, and returns its output and its files. Standard output
//!   and error are one stream. If it is not read, the step blocks; no byte is dropped. The stream ends when no
//!   process of the step runs any more. Files among the values can be replaced while the step runs.
//! - [`Running::wait`]: waits until the step has ended. May be dropped and called again.
//! - [`Running::stop`]: sends SIGTERM to every process of the step's group, and returns immediately.
//! - [`Running::kill`]: **after it has returned without an error, no process of the step runs any more.** May
//!   be called at any time after `prepare`, more than once, and also when the step has ended.
//! - [`Running::remove`]: kills the step if necessary and removes everything that it used. Called exactly
//!   once for every prepared step.
//!
//! Every backend except the dummy, which runs nothing, starts a step through the entrypoint
//! `greenroom-entry`, which kills the step when the runner has fallen silent. It gets secrets by its standard
//! input only: see [`values`].

pub mod container;
pub mod dummy;
pub mod process;
pub mod values;
mod values_folder;

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use greenroom_api_types::runner::{Job, Network};
use tokio::io::AsyncRead;

pub use self::values::{StepFiles, StepValues};
use crate::credential::{CredentialError, Credentials};

/// The exit code of `greenroom-entry` when the runner was silent for too long; also defined in
/// `crates/entry/src/main.rs`.
pub const EXIT_SILENCE: i32 = 250;
/// The exit code of `greenroom-entry` when it failed itself; also defined in `crates/entry/src/main.rs`.
pub const EXIT_ENTRYPOINT_ERROR: i32 = 251;

/// An error of a backend. Its text is shown to users. The sources of its cause are for the log only.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    #[error("{0}")]
    Message(String),
    #[error("{context}: {source}")]
    Caused { context: String, source: Box<dyn Error + Send + Sync> },
}

impl BackendError {
    pub(crate) fn message(text: impl Into<String>) -> Self {
        BackendError::Message(text.into())
    }

    pub(crate) fn new(context: impl Into<String>, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        BackendError::Caused { context: context.into(), source: cause.into() }
    }
}

pub type Result<T> = std::result::Result<T, BackendError>;

/// Why a job's steps can't be prepared.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// Permanent: a retry would not find the image either.
    #[error(transparent)]
    ImageNotFound(BackendError),
    #[error(transparent)]
    Other(#[from] BackendError),
    /// A credential can't be used.
    #[error(transparent)]
    Credential(#[from] CredentialError),
}

/// An image, as its name was resolved by [`Backend::ready`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The reference for creating containers. Not a tag, which may be moved to another image later.
    pub reference: String,
    /// The recorded digest: `sha256:…`.
    pub digest: String,
}

/// Images by the names that steps use.
pub type Images = BTreeMap<String, Image>;

/// Everything that a backend needs for a step.
#[derive(Clone, Debug)]
pub struct StepPlan {
    pub job_id: String,
    pub step_run_id: String,
    /// The number of the job's slot.
    pub slot: u32,
    /// The [`Image::reference`], or the name if the backend uses no images.
    pub image: String,
    /// The script, for backends that do not run it from its file.
    pub run: String,
    pub network: Network,
    /// Variables without those that contain paths, which each backend adds.
    pub variables: BTreeMap<String, String>,
    pub silence: Duration,
    pub folders: Folders,
}

/// The paths of a step's files on this machine.
#[derive(Clone, Debug)]
pub struct Folders {
    /// Shared by all steps of the job.
    pub workspace: PathBuf,
    /// Written by the runner and read by the step: the liveness file and the script.
    pub control: PathBuf,
    /// The script's name in `control`.
    pub script: String,
    /// The folder with the step's [`OUTPUT_FILE`]. Each step has its own.
    pub output: PathBuf,
    /// The folder for home and temporary files, for steps that run directly on this machine.
    pub home: PathBuf,
    /// Set if the step is one of a registry.
    pub registry_step: Option<RegistryStepFiles>,
}

/// What a step of a registry gets besides its script. It can only read it, if the backend isolates steps.
#[derive(Clone, Debug)]
pub struct RegistryStepFiles {
    /// The verified files of the step.
    pub folder: PathBuf,
    /// The file with its inputs, in JSON.
    pub inputs: PathBuf,
}

pub const LIVENESS_FILE: &str = "alive";
pub const OUTPUT_FILE: &str = "output";
/// The variable with the path of the step's output file.
pub const OUTPUT_VARIABLE: &str = "GREENROOM_OUTPUT";
/// The variable with the path of a registry step's files.
pub const STEP_FOLDER_VARIABLE: &str = "GREENROOM_STEP_FOLDER";
/// The variable with the path of a registry step's inputs.
pub const INPUTS_FILE_VARIABLE: &str = "GREENROOM_INPUTS_FILE";

/// A numeric user and group, because names differ between images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub user: u32,
    pub group: u32,
}

/// How a step's program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// 128 plus the signal's number if a signal killed it.
    pub exit_code: i32,
    /// A more specific reason than the exit code, such as a reached memory limit.
    pub remark: Option<String>,
}

pub trait Backend: Send + Sync + 'static {
    type Running: Running;

    fn sweep(&self) -> impl Future<Output = Result<()>> + Send;
    fn ready(
        &self,
        job: &Job,
        slot: u32,
        credentials: &impl Credentials,
    ) -> impl Future<Output = std::result::Result<Images, NotReady>> + Send;
    fn prepare(&self, plan: &StepPlan) -> impl Future<Output = Result<Self::Running>> + Send;
    /// Returns user and group that have to own the workspace's files, if not the runner's own.
    fn owner(&self) -> Option<User> {
        None
    }
}

pub trait Running: Send {
    type Output: AsyncRead + Send + Unpin + 'static;

    fn start(
        &mut self,
        values: &StepValues,
    ) -> impl Future<Output = Result<(Self::Output, StepFiles)>> + Send;
    fn wait(&mut self) -> impl Future<Output = Result<Ended>> + Send;
    fn stop(&mut self) -> impl Future<Output = Result<()>> + Send;
    fn kill(&mut self) -> impl Future<Output = Result<()>> + Send;
    fn remove(self) -> impl Future<Output = Result<()>> + Send;
}
