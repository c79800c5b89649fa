//! The work on a job.

use std::sync::Arc;

use greenroom_api_types::runner::Job;
use greenroom_client::JobClient;
use greenroom_traces::Span;
use tokio::time::Instant;

use super::credentials::PlatformCredentials;
use super::folders::JobFolder;
use super::lease::Lease;
use super::liveness::StartSignal;
use crate::checkout::Access;
use crate::step_archive::StepArchives;

/// What every part of the work on a job needs.
pub(super) struct Work<'a, B> {
    pub(super) job: &'a Job,
    pub(super) client: &'a JobClient,
    pub(super) lease: &'a Arc<Lease>,
    pub(super) start_signal: &'a StartSignal,
    pub(super) folder: &'a JobFolder,
    pub(super) slot: u32,
    pub(super) backend: &'a B,
    pub(super) access: &'a Access,
    pub(super) step_archives: &'a Arc<StepArchives>,
    pub(super) credentials: &'a PlatformCredentials<'a>,
    /// The job in the trace of its deployment.
    pub(super) span: &'a Span,
    /// When the stage times out.
    pub(super) deadline: Instant,
}
