//! Logs on standard error, metrics for Prometheus.

use std::io::IsTerminal;

use anyhow::Context;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// The engine's client logs every retry. Its users log an outage once, which is enough. At the start, each file of the
/// dashboard would be a line.
const DEFAULT_FILTER: &str = "temporalio_client::retry=off,memory_serve=warn";

const LATENCY_BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0];

pub fn logs(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(format!("{DEFAULT_FILTER},{filter}"))
        .context("GREENROOM_LOG is not a filter such as `info` or `greenroom=debug`")?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Text => builder.init(),
    }
    Ok(())
}

pub fn metrics() -> anyhow::Result<PrometheusHandle> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &LATENCY_BUCKETS)?;
    let handle = builder.install_recorder().context("metrics were set up twice")?;
    describe();
    Ok(handle)
}

/// Sets the HELP texts of the metrics.
fn describe() {
    metrics::describe_counter!(
        "greenroom_requests_limited_total",
        "Requests that were rejected with 429, by the limit that they exceeded."
    );
    metrics::describe_counter!(
        "greenroom_connections_refused_total",
        "Connections that were closed because their address had reached its limit."
    );
    metrics::describe_counter!("greenroom_wakes_delivered_total", "Wake-ups that Temporal accepted.");
    metrics::describe_counter!(
        "greenroom_wakes_put_off_total",
        "Wake-ups that Temporal did not accept although it is reachable; each is retried with backoff."
    );
    metrics::describe_counter!(
        "greenroom_wakes_refused_total",
        "Wake-ups that were put off for another reason than a closing workflow or a rate limit."
    );
    metrics::describe_gauge!(
        "greenroom_engine_overdue_deployments",
        "Deployments that could advance and that the engine has not advanced for over a minute."
    );
    metrics::describe_counter!(
        "greenroom_engine_overdue_wakes_total",
        "Repeated wake-ups of deployments that had waited for the engine for over a minute."
    );
    metrics::describe_counter!(
        "greenroom_engine_missing_deployments_total",
        "Workflows that failed because their deployment is not in this database."
    );
    metrics::describe_counter!(
        "greenroom_events_unknown_total",
        "Events with a type or category that this version does not support, left out of its streams."
    );
}
