//! A pool's jobs, as the engine's activity tasks: taken from the queue for a runner, kept alive, and ended. None of it
//! carries data. What a job is and how it went is in PostgreSQL; the engine only learns that it should ask.

use std::time::Duration;

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

use super::{CALL_LIMIT, Engine, EngineError};

/// How much earlier than the call's limit the engine itself answers that there is nothing.
const MARGIN: Duration = Duration::from_secs(2);
/// The engine refuses to wait for less than two seconds.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The engine's token of a task, prefixed with the id of the installation whose task queue it was in. A task of another
/// installation id is not completed. The token is not a secret: only this daemon's own calls accept it.
pub type TaskToken = Vec<u8>;

/// A job that was taken from its queue. Whoever gets it has to [accept](Self::accept) it; if it is dropped before that,
/// because the runner hung up or the job turned out not to be wanted, it goes back at once.
#[derive(Debug)]
#[must_use = "a job that is dropped is handed back"]
pub struct PolledJob {
    pub run: RunStage,
    held: Option<Held>,
}

struct Held {
    token: TaskToken,
    engine: Engine,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Held")
    }
}

impl PolledJob {
    /// The task is the caller's now: to be kept alive and ended by this token.
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

fn hand_back(Held { token, engine }: Held) {
    let tasks = engine.0.tasks.clone();
    // Outside of a runtime nothing can be sent. The engine then notices by the missing heartbeat.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        tasks.spawn_on(
            async move {
                if let Err(error) = engine.fail(&token, "no runner took it").await {
                    tracing::debug!(error = &error as &dyn std::error::Error, "a task was not handed back");
                }
            },
            &runtime,
        );
    }
}

impl Engine {
    /// Waits for a job of this pool, for about as long as it is told to.
    ///
    /// The poll itself is a task of the engine's handle and goes on if this future is dropped: breaking it off just as a
    /// job arrives would lose that job until its heartbeat is missed. What it brings then is handed back at once.
    pub async fn poll_job(&self, pool: PoolId, wait: Duration) -> Result<Option<PolledJob>, EngineError> {
        let (tell, told) = oneshot::channel();
        let engine = self.clone();
        self.0.tasks.spawn(async move {
            // If nobody listens any more, the job comes back here, or falls out of the channel, and is dropped.
            drop(tell.send(engine.poll(pool, wait).await));
        });
        told.await.map_err(|_| EngineError::Stopping)?
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
        request.set_timeout(wait.clamp(SHORTEST_WAIT, LONGEST_WAIT) + MARGIN);
        let polled = service.poll_activity_task_queue(request).await?.into_inner();
        // An empty answer means that there was nothing.
        if polled.task_token.is_empty() {
            return Ok(None);
        }
        let token = [installation.uuid().as_bytes().as_slice(), &polled.task_token].concat();
        let held = Held { token, engine: self.clone() };
        match read(&polled) {
            Some(run) => Ok(Some(PolledJob { run, held: Some(held) })),
            None => {
                tracing::warn!(%pool, activity = polled.activity_id, "a task in the pool's queue is none of ours");
                hand_back(held);
                Ok(None)
            }
        }
    }

    /// The engine's part of a token; [`EngineError::Gone`] if the task is not of this installation's workflows.
    fn own_task(&self, token: &TaskToken) -> Result<Vec<u8>, EngineError> {
        let installation = self.installation()?.uuid();
        token.strip_prefix(installation.as_bytes().as_slice()).map(<[u8]>::to_vec).ok_or(EngineError::Gone)
    }

    /// Says that a runner is still at it. The answer says whether the workflow has given the job up, which is a hint:
    /// whether it is canceled is for PostgreSQL to say.
    pub async fn heartbeat(&self, token: &TaskToken) -> Result<bool, EngineError> {
        let mut request = RecordActivityTaskHeartbeatRequest {
            task_token: self.own_task(token)?,
            identity: self.identity(),
            namespace: self.namespace(),
            ..RecordActivityTaskHeartbeatRequest::default()
        }
        .into_request();
        request.set_timeout(CALL_LIMIT);
        let answer = self.service().await?.record_activity_task_heartbeat(request).await?;
        Ok(answer.into_inner().cancel_requested)
    }

    /// Ends a task: its result is in PostgreSQL, and the workflow may ask for it.
    pub async fn complete(&self, token: &TaskToken) -> Result<(), EngineError> {
        let mut request = RespondActivityTaskCompletedRequest {
            task_token: self.own_task(token)?,
            identity: self.identity(),
            namespace: self.namespace(),
            ..RespondActivityTaskCompletedRequest::default()
        }
        .into_request();
        request.set_timeout(CALL_LIMIT);
        self.service().await?.respond_activity_task_completed(request).await?;
        Ok(())
    }

    /// Ends a task without a result: the workflow asks the store, and dispatches the job again if it still waits.
    pub async fn fail(&self, token: &TaskToken, text: &str) -> Result<(), EngineError> {
        let kind = ApplicationFailureInfo { non_retryable: true, ..ApplicationFailureInfo::default() };
        let failure = Failure {
            message: text.to_owned(),
            source: "greenroom".to_owned(),
            failure_info: Some(FailureInfo::ApplicationFailureInfo(kind)),
            ..Failure::default()
        };
        let mut request = RespondActivityTaskFailedRequest {
            task_token: self.own_task(token)?,
            failure: Some(failure),
            identity: self.identity(),
            namespace: self.namespace(),
            ..RespondActivityTaskFailedRequest::default()
        }
        .into_request();
        request.set_timeout(CALL_LIMIT);
        self.service().await?.respond_activity_task_failed(request).await?;
        Ok(())
    }
}

fn read(polled: &PollActivityTaskQueueResponse) -> Option<RunStage> {
    let payload = polled.input.as_ref()?.payloads.first()?;
    serde_json::from_slice(&payload.data).ok()
}
