//! The HELP text of each metric. Metrics of the server and of the worker are one table, because both are one program.

use metrics::{describe_counter, describe_gauge, describe_histogram};

#[derive(Clone, Copy)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// What a metric's number is. The name contains it.
#[derive(Clone, Copy)]
pub enum Unit {
    Seconds,
    /// 1 if the name is true, else 0.
    Flag,
    /// How many of these there are or were, or which of them it is.
    Count(&'static str),
}

use Kind::{Counter, Gauge, Histogram};
use Unit::{Count, Flag, Seconds};

pub const METRICS: [(Kind, Unit, &str, &str); 39] = [
    (
        Histogram,
        Seconds,
        "greenroom_http_request_seconds",
        "How long requests took, until their response began, in seconds.",
    ),
    (
        Counter,
        Count("requests"),
        "greenroom_requests_limited_total",
        "Requests that were rejected with 429, by the limit that they exceeded.",
    ),
    (
        Counter,
        Count("connections"),
        "greenroom_connections_refused_total",
        "Connections that were closed because their address had reached its limit.",
    ),
    (
        Counter,
        Count("handshakes"),
        "greenroom_tls_handshakes_failed_total",
        "TLS handshakes that failed, by reason.",
    ),
    (
        Gauge,
        Seconds,
        "greenroom_tls_certificate_expires_timestamp_seconds",
        "When the TLS certificate in use expires, in seconds since 1970.",
    ),
    (Gauge, Flag, "greenroom_database_reachable", "Whether the database responds."),
    (
        Gauge,
        Seconds,
        "greenroom_sequencer_lag_seconds",
        "How long the oldest event has waited for its number, in seconds.",
    ),
    (
        Counter,
        Count("cleanups"),
        "greenroom_cleanups_repeated_total",
        "Teardowns that failed and were repeated when they were due.",
    ),
    (
        Counter,
        Count("environments"),
        "greenroom_environments_swept_total",
        "Environments whose lease or queue was due, and was settled.",
    ),
    (
        Counter,
        Count("sweeps"),
        "greenroom_sweeps_failed_total",
        "Environments that could not be settled; each is retried with backoff.",
    ),
    (
        Gauge,
        Seconds,
        "greenroom_relay_lag_seconds",
        "How long Temporal has not accepted the wake-ups of this process, in seconds; 0 if it accepts them.",
    ),
    (Counter, Count("wakes"), "greenroom_wakes_delivered_total", "Wake-ups that Temporal accepted."),
    (
        Counter,
        Count("wakes"),
        "greenroom_wakes_put_off_total",
        "Wake-ups that Temporal did not accept although it is reachable; each is retried with backoff.",
    ),
    (
        Counter,
        Count("wakes"),
        "greenroom_wakes_refused_total",
        "Wake-ups that were put off for another reason than a closing workflow or a rate limit.",
    ),
    (Gauge, Flag, "greenroom_engine_worker_running", "Whether this process runs workflows."),
    (
        Counter,
        Count("unanswered"),
        "greenroom_engine_unanswered_total",
        "Calls of workflows to which the database did not respond; they are retried.",
    ),
    (
        Gauge,
        Count("deployments"),
        "greenroom_engine_overdue_deployments",
        "Deployments that could advance and that the engine has not advanced for over a minute.",
    ),
    (
        Counter,
        Count("wakes"),
        "greenroom_engine_overdue_wakes_total",
        "Repeated wake-ups of deployments that had waited for the engine for over a minute.",
    ),
    (
        Counter,
        Count("deployments"),
        "greenroom_engine_missing_deployments_total",
        "Workflows that failed because their deployment is not in this database.",
    ),
    (Counter, Count("events"), "greenroom_events_sequenced_total", "Events that this process has numbered."),
    (
        Gauge,
        Count("position"),
        "greenroom_feed_position",
        "Number of the last event that this server has sent to its streams.",
    ),
    (
        Counter,
        Count("events"),
        "greenroom_events_unknown_total",
        "Events with a type or category that this version does not support, left out of its streams.",
    ),
    (
        Gauge,
        Count("watchers"),
        "greenroom_environment_watchers",
        "Different users with an open stream of an environment's events.",
    ),
    (
        Counter,
        Count("objects"),
        "greenroom_objects_removed_total",
        "Unreferenced objects that were removed from the object store.",
    ),
    (
        Counter,
        Count("sessions"),
        "greenroom_sessions_ended_late_total",
        "Sessions that were granted while their member was removed or their pipeline archived, ended afterwards.",
    ),
    (
        Counter,
        Count("failures"),
        "greenroom_failures_collected_total",
        "Failures whose evidence was collected, or whose verdict was decided again, by outcome.",
    ),
    (
        Gauge,
        Count("tokens"),
        "greenroom_watched_tokens",
        "Different tokens and runners with an open stream or download.",
    ),
    (Gauge, Count("logs"), "greenroom_followed_logs", "Different logs that open streams follow."),
    (
        Gauge,
        Count("deployments"),
        "greenroom_followed_deployments",
        "Different deployments that open streams follow.",
    ),
    (
        Counter,
        Count("sign_ins"),
        "greenroom_sign_ins_total",
        "Sign-ins of people in browsers, by method and outcome.",
    ),
    (Counter, Count("syncs"), "greenroom_registry_syncs_total", "Syncs of step registries, by outcome."),
    (
        Counter,
        Count("steps"),
        "greenroom_fix_steps_total",
        "Steps of fixes that a worker has carried out, by outcome.",
    ),
    (
        Counter,
        Count("explanations"),
        "greenroom_explanations_total",
        "Explanations of failures by a model, by outcome.",
    ),
    (Counter, Count("claims"), "greenroom_claims_total", "Claims of environments, by outcome."),
    (
        Counter,
        Count("leases"),
        "greenroom_leases_ended_total",
        "Leases of environments whose end this process has numbered, by cause.",
    ),
    (
        Gauge,
        Count("sessions"),
        "greenroom_sessions_waiting",
        "Sessions in the queues of all environments. Each worker has the same number.",
    ),
    (
        Gauge,
        Count("jobs"),
        "greenroom_jobs_waiting",
        "Jobs that wait for a runner, by the name of the pool. Each worker has the same number.",
    ),
    (
        Gauge,
        Seconds,
        "greenroom_oldest_job_waiting_seconds",
        "How long the oldest job has waited for a runner, by the name of the pool, in seconds; 0 if none waits.",
    ),
    (
        Gauge,
        Count("deliveries"),
        "greenroom_deliveries_due",
        "What has to be delivered or done and has not been yet, by kind. Each worker has the same number.",
    ),
];

pub(super) fn describe() {
    for (kind, _, name, help) in METRICS {
        match kind {
            Counter => describe_counter!(name, help),
            Gauge => describe_gauge!(name, help),
            Histogram => describe_histogram!(name, help),
        }
    }
}
