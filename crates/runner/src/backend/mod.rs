//! Where steps run. A backend knows nothing of the server, of logs or of leases: it is told what to do by
//! [`crate::job`], in this order:
//!
//! ```text
//! ready ─► prepare ─► start ─► wait ──────────────────────► remove
//!                       │        ▲
//!                       ▼        │
//!                     output   stop (asks) ─► kill
//! ```
//!
//! - [`Backend::sweep`], before the first job and after the last: removes what this runner, or a former life of it, has left.
//! - [`Backend::ready`], once per job: everything that its steps need and that may be slow or fail, such as images and a
//!   network. No other job has the same slot at the same time.
//! - [`Backend::prepare`]: makes a step ready to start. Nothing of the step runs yet. The server is asked between this and
//!   the start, because what it allows may have changed while an image was pulled.
//! - [`Running::start`]: the step runs, and what it writes can be read. Both of its outputs are one stream, byte for byte.
//!   Who does not read it makes the step wait; nothing is thrown away. The stream ends when nothing of the step runs.
//! - [`Running::wait`]: until the step has ended by itself or otherwise. May be dropped and called again.
//! - [`Running::stop`]: asks every process of the step's group to end (SIGTERM), and returns at once.
//! - [`Running::kill`]: **after it has returned without an error, nothing of the step runs any more.** May be called at any
//!   time after `prepare`, more than once, and also when the step has ended.
//! - [`Running::remove`]: kills if need be, and leaves nothing behind. Called exactly once for every step prepared.
//!
//! Every backend starts a step by the entrypoint `greenroom-entry`, which ends it by itself when the runner has
//! fallen silent; the dummy, which runs nothing, excepted.

pub mod container;
pub mod dummy;
pub mod process;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use greenroom_api_types::runner::{Job, Network};
use tokio::io::AsyncRead;

/// Said by `greenroom-entry` when the runner was silent for too long. Its own list is in `crates/entry/src/main.rs`.
pub const EXIT_SILENCE: i32 = 250;
/// Said by `greenroom-entry` when it could not do its work.
pub const EXIT_TROUBLE: i32 = 251;

/// What went wrong, for people.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BackendError(pub String);

impl BackendError {
    pub(crate) fn new(doing: &str, error: impl std::fmt::Display) -> Self {
        BackendError(format!("{doing}: {error}"))
    }
}

pub type Result<T> = std::result::Result<T, BackendError>;

/// Why a job's steps can't be prepared.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// A retry would not find the image either.
    #[error("{0}")]
    ImageNotFound(String),
    #[error(transparent)]
    Other(#[from] BackendError),
}

/// What an image's name stood for when the job was made ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What containers are made from: no tag, which may stand for another image later.
    pub reference: String,
    /// What is recorded: `sha256:…`.
    pub digest: String,
}

/// By the names that steps use.
pub type Images = BTreeMap<String, Image>;

/// Everything that a backend has to know of a step.
#[derive(Clone, Debug)]
pub struct StepPlan {
    pub job_id: String,
    pub step_run_id: String,
    /// The number of the job's slot.
    pub slot: u32,
    /// The [`Image::reference`], or the name if the backend uses no images.
    pub image: String,
    /// The script, for those who do not run it from its file.
    pub run: String,
    pub network: Network,
    /// Without those that say where something lies: each backend adds its own.
    pub variables: BTreeMap<String, String>,
    pub silence: Duration,
    pub folders: Folders,
}

/// Where a job's files are on this machine.
#[derive(Clone, Debug)]
pub struct Folders {
    /// What the steps share.
    pub workspace: PathBuf,
    /// What the runner says and the step reads: the alive file, and the script.
    pub control: PathBuf,
    /// The script's name in `control`.
    pub script: String,
    /// Where the step writes its outputs: one folder per step, with [`OUTPUT_FILE`] in it.
    pub output: PathBuf,
    /// A home and a place for temporary files, for steps that run on this machine itself.
    pub home: PathBuf,
}

pub const ALIVE_FILE: &str = "alive";
pub const OUTPUT_FILE: &str = "output";
/// Tells the step where to write its outputs.
pub const OUTPUT_VARIABLE: &str = "GREENROOM_OUTPUT";

/// How a step's program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// 128 and the signal's number, if it died of one.
    pub exit_code: i32,
    /// What the backend knows beyond the code: that the memory was used up.
    pub remark: Option<String>,
}

pub trait Backend: Send + Sync + 'static {
    type Running: Running;

    fn sweep(&self) -> impl Future<Output = Result<()>> + Send;
    fn ready(
        &self,
        job: &Job,
        slot: u32,
    ) -> impl Future<Output = std::result::Result<Images, NotReady>> + Send;
    fn prepare(&self, plan: &StepPlan) -> impl Future<Output = Result<Self::Running>> + Send;
    /// Whose the workspace's files have to be, if not the runner's own: user and group.
    fn owner(&self) -> Option<(u32, u32)> {
        None
    }
}

pub trait Running: Send {
    type Output: AsyncRead + Send + Unpin + 'static;

    fn start(&mut self) -> impl Future<Output = Result<Self::Output>> + Send;
    fn wait(&mut self) -> impl Future<Output = Result<Ended>> + Send;
    fn stop(&mut self) -> impl Future<Output = Result<()>> + Send;
    fn kill(&mut self) -> impl Future<Output = Result<()>> + Send;
    fn remove(self) -> impl Future<Output = Result<()>> + Send;
}
