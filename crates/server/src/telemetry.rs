//! Logs on standard error, metrics for Prometheus.

use std::io::IsTerminal;

use anyhow::Context;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// The engine's client tells of every call that it repeats. Its own users tell of an outage once, and that is enough.
const QUIET: &str = "temporalio_client::retry=off";

const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0];

pub fn logs(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(format!("{QUIET},{filter}"))
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
    let builder =
        PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?;
    let handle = builder.install_recorder().context("metrics were set up twice")?;
    describe();
    Ok(handle)
}

/// What Prometheus shows as HELP.
fn describe() {
    metrics::describe_counter!(
        "greenroom_requests_limited_total",
        "Requests that were answered 429, by the limit that they met."
    );
    metrics::describe_counter!(
        "greenroom_connections_refused_total",
        "Connections that were closed because their address had as many as it may have."
    );
    metrics::describe_counter!("greenroom_wakes_delivered_total", "Wake-ups that Temporal took.");
    metrics::describe_counter!(
        "greenroom_wakes_put_off_total",
        "Wake-ups that Temporal did not take although it answers; each is tried again after a growing delay."
    );
    metrics::describe_counter!(
        "greenroom_wakes_refused_total",
        "Wake-ups that were put off and not because of a closing workflow or a rate limit."
    );
    metrics::describe_gauge!(
        "greenroom_engine_overdue_deployments",
        "Deployments that could go on and that the engine has not taken up for over a minute."
    );
    metrics::describe_counter!(
        "greenroom_engine_overdue_wakes_total",
        "How often a deployment was woken again that had waited for the engine for over a minute."
    );
    metrics::describe_counter!(
        "greenroom_engine_missing_deployments_total",
        "Workflows that failed because their deployment is not in this database."
    );
    metrics::describe_counter!(
        "greenroom_events_unknown_total",
        "Events of a type or category that this version does not know, left out of its streams."
    );
}
