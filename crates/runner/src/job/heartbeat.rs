//! Tells the server that this runner is there, and hears from it whether to go on.

use std::time::Duration;

use greenroom_api_types::runner::Job;
use greenroom_client::{Error, JobClient, UNEXPECTED_ANSWER};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lease::{CanceledBy, Cancellation, Lease};

/// An answer that takes longer is not waited for: asking again is more likely to help.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);
const SHORTEST_ANSWER: Duration = Duration::from_secs(1);

/// Until the job is no longer this runner's. The first one is sent at once if the work waits for it. `revoked` is told if the
/// server answers that the runner's token was revoked: then no job is this runner's any more.
pub async fn run(client: &JobClient, job: &Job, lease: &Lease, revoked: &CancellationToken) {
    let interval = Duration::from_secs(job.heartbeat_seconds.max(1).into());
    let limit = Duration::from_secs(job.lease_seconds.into()) / 3;
    let limit = limit.clamp(SHORTEST_ANSWER, LONGEST_ANSWER);
    if lease.is_confirmed() {
        pause(Instant::now() + interval, lease).await;
    }
    while lease.is_valid() {
        let sent = Instant::now();
        let next = match client.heartbeat(limit).await {
            Ok(heartbeat) => {
                lease.renew(sent + Duration::from_secs(heartbeat.lease_seconds.into()));
                if let Some(cancel) = heartbeat.cancel {
                    let grace = Duration::from_secs(cancel.grace_seconds.into());
                    lease.cancel(Cancellation { grace, reason: cancel.reason, by: CanceledBy::Server });
                }
                sent + interval
            }
            Err(error) if is_final(&error) => {
                tracing::warn!(%error, "the job is no longer this runner's");
                lease.revoke();
                if error.is_runner_revoked() {
                    revoked.cancel();
                }
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "a heartbeat was not answered; trying again");
                Instant::now() + interval.min(Duration::from_secs(1))
            }
        };
        pause(next, lease).await;
    }
}

async fn pause(until: Instant, lease: &Lease) {
    tokio::select! {
        () = tokio::time::sleep_until(until) => {}
        () = lease.over() => {}
    }
}

/// An odd answer that is not our server's (a proxy's, while that is being replaced) takes no job away.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Gone { .. } => true,
        Error::Refused { code, .. } => code != UNEXPECTED_ANSWER,
        Error::Unavailable { .. } | Error::Local(_) => false,
    }
}
