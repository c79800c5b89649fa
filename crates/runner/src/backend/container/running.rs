//! The container of one step.

use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, KillContainerOptionsBuilder, RemoveContainerOptionsBuilder,
    WaitContainerOptionsBuilder,
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::timeout;
use tokio_util::io::StreamReader;
use tokio_util::sync::CancellationToken;

use crate::backend::{BackendError, Ended, Result, Running, StepFiles, StepValues};

/// How long the engine may take to end a killed container.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a container with open output is checked, and how long such a request may take.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const CHECK_TIMEOUT: Duration = Duration::from_millis(50);
/// The pause before a request is repeated that has failed.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The exit code of a step whose container has ended without one.
const UNKNOWN_EXIT_CODE: i32 = -1;

type Output = StreamReader<Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>, Bytes>;

pub struct ContainerStep {
    docker: Docker,
    id: String,
    /// Canceled when the output has ended, or is not read any more.
    output_ended: CancellationToken,
    ended: Option<Ended>,
}

impl ContainerStep {
    pub(super) fn new(docker: Docker, id: String) -> Self {
        ContainerStep { docker, id, output_ended: CancellationToken::new(), ended: None }
    }
}

/// Returns `None` while the container runs.
async fn inspect(docker: &Docker, id: &str) -> Result<Option<Ended>> {
    let unknown = |error| BackendError::new("could not inspect the step's container", error);
    let found = docker.inspect_container(id, None).await.map_err(unknown)?;
    let state = found.state.unwrap_or_default();
    if state.running.unwrap_or(false) || state.paused.unwrap_or(false) {
        return Ok(None);
    }
    let exit_code = state.exit_code.and_then(|code| i32::try_from(code).ok());
    let exit_code = exit_code.unwrap_or(UNKNOWN_EXIT_CODE);
    let remark = state.oom_killed.unwrap_or(false).then(|| "the memory limit was reached".to_owned());
    Ok(Some(Ended { exit_code, remark }))
}

/// Waits until the container does not run any more. Its output ends with it, or before. While the output is open,
/// requests to wait are short: Podman before version 4.5 polls without a pause during such a request.
async fn wait_until_ended(docker: &Docker, id: &str, output_ended: &CancellationToken) -> Result<Ended> {
    loop {
        let is_open = timeout(CHECK_INTERVAL, output_ended.cancelled()).await.is_err();
        let options = WaitContainerOptionsBuilder::new().condition("not-running").build();
        let mut request = docker.wait_container(id, Some(options));
        let waited = match is_open {
            true => match timeout(CHECK_TIMEOUT, request.next()).await {
                Ok(waited) => waited,
                Err(_) => continue,
            },
            false => request.next().await,
        };
        // The response is not used, and the container is inspected instead: the library reports any exit code
        // other than 0 as an error, and a long wait may end with the connection's timeout.
        if let Some(ended) = inspect(docker, id).await? {
            return Ok(ended);
        }
        if !matches!(waited, Some(Ok(_))) {
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}

impl Running for ContainerStep {
    type Output = Output;

    async fn start(&mut self, values: &StepValues) -> Result<(Output, StepFiles)> {
        let failed = |error| BackendError::new("the step could not be started", error);
        // Attach before the start, so that no output is lost.
        let options = AttachContainerOptionsBuilder::new().stream(true).stdin(true).stdout(true).stderr(true);
        let attached = self.docker.attach_container(&self.id, Some(options.build())).await.map_err(failed)?;
        self.docker.start_container(&self.id, None).await.map_err(failed)?;
        let files = values.send(attached.input).await?;
        let bytes =
            attached.output.map(|piece| piece.map(|piece| piece.into_bytes()).map_err(io::Error::other));
        let mut guard = Some(self.output_ended.clone().drop_guard());
        let end = stream::poll_fn(move |_| {
            drop(guard.take());
            Poll::Ready(None)
        });
        Ok((StreamReader::new(Box::pin(bytes.chain(end))), files))
    }

    async fn wait(&mut self) -> Result<Ended> {
        if let Some(ended) = &self.ended {
            return Ok(ended.clone());
        }
        let ended = wait_until_ended(&self.docker, &self.id, &self.output_ended).await?;
        self.ended = Some(ended.clone());
        Ok(ended)
    }

    async fn stop(&mut self) -> Result<()> {
        let options = KillContainerOptionsBuilder::new().signal("SIGTERM").build();
        unless_gone(self.docker.kill_container(&self.id, Some(options)).await)
            .map_err(|error| BackendError::new("could not send SIGTERM to the step", error))
    }

    async fn kill(&mut self) -> Result<()> {
        let failed = |error| BackendError::new("the step could not be killed", error);
        let options = KillContainerOptionsBuilder::new().signal("SIGKILL").build();
        unless_gone(self.docker.kill_container(&self.id, Some(options)).await).map_err(failed)?;
        // The kernel kills all processes of the container with the first one; the engine reports the end
        // after that.
        match timeout(KILL_TIMEOUT, self.wait()).await {
            Ok(ended) => ended.map(drop),
            Err(_) => Err(BackendError::message("the step's container still runs after it was killed")),
        }
    }

    async fn remove(self) -> Result<()> {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        unless_gone(self.docker.remove_container(&self.id, Some(options)).await)
            .map_err(|error| BackendError::new("the step's container could not be removed", error))
    }
}

/// Ignores errors for a container that does not run, or does not exist: killing and removing are idempotent.
pub(super) fn unless_gone(done: std::result::Result<(), Error>) -> std::result::Result<(), Error> {
    match done {
        Err(Error::DockerResponseServerError { status_code: 304 | 404 | 409, .. }) => Ok(()),
        other => other,
    }
}
