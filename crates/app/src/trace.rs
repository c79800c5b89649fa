//! The trace of a deployment begins with the request that creates it.

use greenroom_domain::id::DeploymentId;
use greenroom_store::Command;

use crate::failure::Failure;

/// Records the trace of the request, so that relay, worker and runner continue it. Does nothing if the request is not traced.
pub(crate) async fn record(command: &mut Command, deployment: DeploymentId) -> Result<(), Failure> {
    if let Some(traceparent) = greenroom_traces::current() {
        command.record_trace(deployment, &traceparent).await?;
    }
    Ok(())
}
