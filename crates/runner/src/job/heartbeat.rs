//! Sends heartbeats, which renew the job's lease. Their responses carry cancellations.

use std::time::Duration;

use greenroom_api_types::runner::Job;
use greenroom_client::{Error, JobClient, UNEXPECTED_RESPONSE};
use tokio::time::Instant;

use super::lease::{CanceledBy, Cancellation, Lease};
use crate::stop::Stop;

/// Bounds of a heartbeat's timeout. After a longer wait a new request is more likely to succeed.
const MAX_TIMEOUT: Duration = Duration::from_secs(10);
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs until the lease has ended. The first heartbeat is sent immediately if the lease is not confirmed yet,
/// because the work waits for it. A runner that drains reports it. Cancels `stop.revoked` if the server
/// responds that the runner's token was revoked: then the runner has lost all of its jobs.
pub async fn run(client: &JobClient, job: &Job, lease: &Lease, stop: &Stop) {
    let interval = Duration::from_secs(job.heartbeat_seconds.max(1).into());
    let timeout = Duration::from_secs(job.lease_seconds.into()) / 3;
    let timeout = timeout.clamp(MIN_TIMEOUT, MAX_TIMEOUT);
    if lease.is_confirmed() {
        sleep_while_leased(Instant::now() + interval, lease).await;
    }
    while lease.is_valid() {
        let sent = Instant::now();
        let next = match client.heartbeat(timeout, stop.drain.is_cancelled()).await {
            Ok(heartbeat) => {
                lease.renew(sent + Duration::from_secs(heartbeat.lease_seconds.into()));
                if let Some(cancel) = heartbeat.cancel {
                    let grace = Duration::from_secs(cancel.grace_seconds.into());
                    let reason = cancel.reason.to_string();
                    lease.cancel(Cancellation { grace, reason, by: CanceledBy::Server });
                }
                sent + interval
            }
            // The job's end may have been stored; the response to the report of it decides.
            Err(error @ Error::Gone { .. }) if lease.is_end_sent() && !error.is_runner_revoked() => return,
            Err(error) if is_final(&error) => {
                tracing::warn!(%error, "this runner has lost the job");
                lease.revoke();
                if error.is_runner_revoked() {
                    stop.revoked.cancel();
                }
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "a heartbeat failed; retrying");
                Instant::now() + interval.min(Duration::from_secs(1))
            }
        };
        sleep_while_leased(next, lease).await;
    }
}

async fn sleep_while_leased(until: Instant, lease: &Lease) {
    tokio::select! {
        () = tokio::time::sleep_until(until) => {}
        () = lease.ended() => {}
    }
}

/// Returns whether the error ends the lease. An unexpected response that is not Greenroom's (for example from
/// a proxy that is being restarted) does not.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Gone { .. } => true,
        Error::Refused { code, .. } => code != UNEXPECTED_RESPONSE,
        Error::Unavailable { .. } | Error::Local { .. } => false,
    }
}
