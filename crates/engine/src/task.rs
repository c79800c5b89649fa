//! A pool's jobs as activity tasks of the engine: polled from the task queue for a runner, kept alive by
//! heartbeats, and completed or failed. They carry no data: a job and its result are stored in PostgreSQL,
//! and the end of a task only makes the workflow advance the deployment.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::PoolId;
use greenroom_workflows::RunStage;
use greenroom_workflows::names::pool_queue;
use temporalio_client::tonic::{IntoRequest, Request};
use temporalio_common::protos::temporal::api::enums::v1::TaskQueueKind;
use temporalio_common::protos::temporal::api::failure::v1::failure::FailureInfo;
use temporalio_common::protos::temporal::api::failure::v1::{ApplicationFailureInfo, Failure};
use temporalio_common::protos::temporal::api::taskqueue::v1::TaskQueue;
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    PollActivityTaskQueueRequest, PollActivityTaskQueueResponse, RecordActivityTaskHeartbeatRequest,
    RespondActivityTaskCompletedRequest, RespondActivityTaskFailedRequest,
};
use tokio::sync::oneshot;

use crate::{CALL_TIMEOUT, Engine, EngineError};

/// How much earlier than the call's timeout the engine returns an empty poll.
const POLL_MARGIN: Duration = Duration::from_secs(2);
/// The engine rejects polls with a timeout of less than two seconds.
const MIN_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The engine's token of a task, prefixed with the id of the installation whose task queue it was in. A task
/// of another installation id is not completed. The token is not a secret: only this daemon's own calls
/// accept it.
pub type TaskToken = Vec<u8>;

/// A job that was polled from its task queue. The caller has to [accept](Self::accept) it. If it is dropped
/// before that, because the runner disconnected or the job is no longer needed, it is handed back
/// immediately.
#[derive(Debug)]
#[must_use = "a job that is dropped is handed back"]
pub struct PolledJob {
    pub run: RunStage,
    held: Option<HeldTask>,
}

struct HeldTask {
    token: TaskToken,
    engine: Engine,
}

impl std::fmt::Debug for HeldTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HeldTask")
    }
}

impl PolledJob {
    /// Passes the task to the caller, who sends its heartbeats and ends it with the returned token.
    pub fn accept(mut self) -> TaskToken {
        self.held.take().map(|held| held.token).unwrap_or_default()
    }
}

impl Drop for PolledJob {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            hand_back(held);
        }
    }
}

fn hand_back(HeldTask { token, engine }: HeldTask) {
    let tasks = engine.0.tasks.clone();
    // Outside of an async runtime nothing can be sent. The task then times out by its missing heartbeat.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        tasks.spawn_on(
            async move {
                if let Err(error) = engine.fail(&token, "no runner took it").await {
                    tracing::debug!(error = &error as &dyn std::error::Error, "could not hand back a task");
                }
            },
            &runtime,
        );
    }
}

#[boxed_futures]
impl Engine {
    /// Polls for a job of this pool, for about `wait`.
    ///
    /// The poll runs in a separate task and continues if this future is dropped: aborting it just as a job
    /// arrives would lose that job until its heartbeat times out. A job that arrives after the drop is handed
    /// back immediately.
    pub async fn poll_job(&self, pool: PoolId, wait: Duration) -> Result<Option<PolledJob>, EngineError> {
        let (sender, receiver) = oneshot::channel();
        let engine = self.clone();
        self.0.tasks.spawn(async move {
            // If the receiver is gone, the job is dropped here or with the channel, and thereby handed back.
            drop(sender.send(engine.poll(pool, wait).await));
        });
        receiver.await.map_err(|_| EngineError::Stopping)?
    }

    async fn poll(&self, pool: PoolId, wait: Duration) -> Result<Option<PolledJob>, EngineError> {
        let installation = self.installation()?;
        let mut service = self.service().await?;
        let name = pool_queue(Some(installation), pool);
        let queue = TaskQueue { name, kind: TaskQueueKind::Normal.into(), ..TaskQueue::default() };
        let mut request = Request::new(PollActivityTaskQueueRequest {
            namespace: self.namespace(),
            task_queue: Some(queue),
            identity: self.identity(),
            ..PollActivityTaskQueueRequest::default()
        });
        request.set_timeout(wait.clamp(MIN_WAIT, MAX_WAIT) + POLL_MARGIN);
        let polled = service.poll_activity_task_queue(request).await?.into_inner();
        // An empty response means that there was no task.
        if polled.task_token.is_empty() {
            return Ok(None);
        }
        let token = [installation.uuid().as_bytes().as_slice(), &polled.task_token].concat();
        let held = HeldTask { token, engine: self.clone() };
        match read(&polled) {
            Some(run) => Ok(Some(PolledJob { run, held: Some(held) })),
            None => {
                tracing::warn!(%pool, activity = polled.activity_id, "the pool's task queue has an unknown task");
                hand_back(held);
                Ok(None)
            }
        }
    }

    /// Returns the engine's part of a token, or [`EngineError::Gone`] if the task belongs to another
    /// installation.
    fn strip_installation(&self, token: &TaskToken) -> Result<Vec<u8>, EngineError> {
        let installation = self.installation()?.uuid();
        token.strip_prefix(installation.as_bytes().as_slice()).map(<[u8]>::to_vec).ok_or(EngineError::Gone)
    }

    /// Sends a heartbeat. Returns whether the workflow has requested the task's cancellation. That is only a
    /// hint: whether the job is canceled is decided in PostgreSQL.
    pub async fn heartbeat(&self, token: &TaskToken) -> Result<bool, EngineError> {
        let mut request = RecordActivityTaskHeartbeatRequest {
            task_token: self.strip_installation(token)?,
            identity: self.identity(),
            namespace: self.namespace(),
            ..RecordActivityTaskHeartbeatRequest::default()
        }
        .into_request();
        request.set_timeout(CALL_TIMEOUT);
        let response = self.service().await?.record_activity_task_heartbeat(request).await?;
        Ok(response.into_inner().cancel_requested)
    }

    /// Completes a task. The job's result is in PostgreSQL, where the workflow's next advance reads it.
    pub async fn complete(&self, token: &TaskToken) -> Result<(), EngineError> {
        let mut request = RespondActivityTaskCompletedRequest {
            task_token: self.strip_installation(token)?,
            identity: self.identity(),
            namespace: self.namespace(),
            ..RespondActivityTaskCompletedRequest::default()
        }
        .into_request();
        request.set_timeout(CALL_TIMEOUT);
        self.service().await?.respond_activity_task_completed(request).await?;
        Ok(())
    }

    /// Fails a task: the workflow advances the deployment, and dispatches the job again if it still waits for
    /// a runner.
    pub async fn fail(&self, token: &TaskToken, text: &str) -> Result<(), EngineError> {
        let kind = ApplicationFailureInfo { non_retryable: true, ..ApplicationFailureInfo::default() };
        let failure = Failure {
            message: text.to_owned(),
            source: "greenroom".to_owned(),
            failure_info: Some(FailureInfo::ApplicationFailureInfo(kind)),
            ..Failure::default()
        };
        let mut request = RespondActivityTaskFailedRequest {
            task_token: self.strip_installation(token)?,
            failure: Some(failure),
            identity: self.identity(),
            namespace: self.namespace(),
            ..RespondActivityTaskFailedRequest::default()
        }
        .into_request();
        request.set_timeout(CALL_TIMEOUT);
        self.service().await?.respond_activity_task_failed(request).await?;
        Ok(())
    }
}

fn read(polled: &PollActivityTaskQueueResponse) -> Option<RunStage> {
    let payload = polled.input.as_ref()?.payloads.first()?;
    serde_json::from_slice(&payload.data).ok()
}
