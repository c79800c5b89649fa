//! One step's container.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, KillContainerOptionsBuilder, RemoveContainerOptionsBuilder,
    WaitContainerOptionsBuilder,
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio_util::io::StreamReader;

use crate::backend::{BackendError, Ended, Result, Running};

/// How long the engine may take to end a container that was killed.
const KILL_PATIENCE: Duration = Duration::from_secs(30);
/// Between two questions, when the engine's own way of waiting has failed.
const ASK_EVERY: Duration = Duration::from_millis(500);

type Output = StreamReader<Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>, Bytes>;

pub struct Contained {
    docker: Docker,
    id: String,
    ended: Option<Ended>,
}

impl Contained {
    pub(super) fn new(docker: Docker, id: String) -> Self {
        Contained { docker, id, ended: None }
    }

    /// None while it runs.
    async fn look(&self) -> Result<Option<Ended>> {
        let unknown = |error| BackendError::new("the step's end is not known", error);
        let found = self.docker.inspect_container(&self.id, None).await.map_err(unknown)?;
        let state = found.state.unwrap_or_default();
        if state.running.unwrap_or(false) || state.paused.unwrap_or(false) {
            return Ok(None);
        }
        let exit_code = state.exit_code.and_then(|code| i32::try_from(code).ok()).unwrap_or(-1);
        let remark = state.oom_killed.unwrap_or(false).then(|| "the memory limit was reached".to_owned());
        Ok(Some(Ended { exit_code, remark }))
    }

    /// Until the container does not run any more, however the engine says so.
    async fn until_ended(&self) -> Result<Ended> {
        loop {
            let options = WaitContainerOptionsBuilder::new().condition("not-running").build();
            let waited = self.docker.wait_container(&self.id, Some(options)).next().await;
            // What the answer says is asked for again below: the library reports any other code than 0 as an error,
            // and a long wait may end with the connection's time limit.
            if let Some(ended) = self.look().await? {
                return Ok(ended);
            }
            if !matches!(waited, Some(Ok(_))) {
                tokio::time::sleep(ASK_EVERY).await;
            }
        }
    }
}

impl Running for Contained {
    type Output = Output;

    async fn start(&mut self) -> Result<Output> {
        let failed = |error| BackendError::new("the step could not be started", error);
        // Before the start, so that not a byte is missed.
        let options = AttachContainerOptionsBuilder::new().stream(true).stdout(true).stderr(true).build();
        let attached = self.docker.attach_container(&self.id, Some(options)).await.map_err(failed)?;
        self.docker.start_container(&self.id, None).await.map_err(failed)?;
        let bytes =
            attached.output.map(|piece| piece.map(|piece| piece.into_bytes()).map_err(io::Error::other));
        Ok(StreamReader::new(Box::pin(bytes)))
    }

    async fn wait(&mut self) -> Result<Ended> {
        if let Some(ended) = &self.ended {
            return Ok(ended.clone());
        }
        let ended = self.until_ended().await?;
        self.ended = Some(ended.clone());
        Ok(ended)
    }

    async fn stop(&mut self) -> Result<()> {
        let options = KillContainerOptionsBuilder::new().signal("SIGTERM").build();
        unless_gone(self.docker.kill_container(&self.id, Some(options)).await)
            .map_err(|error| BackendError::new("the step could not be asked to end", error))
    }

    async fn kill(&mut self) -> Result<()> {
        let failed = |error| BackendError::new("the step could not be killed", error);
        let options = KillContainerOptionsBuilder::new().signal("SIGKILL").build();
        unless_gone(self.docker.kill_container(&self.id, Some(options)).await).map_err(failed)?;
        // With its first process the kernel ends all the others; the engine says so once it is done.
        match tokio::time::timeout(KILL_PATIENCE, self.wait()).await {
            Ok(ended) => ended.map(drop),
            Err(_) => Err(BackendError("the step's container still runs after it was killed".to_owned())),
        }
    }

    async fn remove(self) -> Result<()> {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        unless_gone(self.docker.remove_container(&self.id, Some(options)).await)
            .map_err(|error| BackendError::new("the step's container could not be removed", error))
    }
}

/// What does not run cannot be killed, and what is not there cannot be removed; both is what was wanted.
pub(super) fn unless_gone(done: std::result::Result<(), Error>) -> std::result::Result<(), Error> {
    match done {
        Err(Error::DockerResponseServerError { status_code: 304 | 404 | 409, .. }) => Ok(()),
        other => other,
    }
}
