//! Liveness and readiness probes, and metrics.

use std::borrow::Cow;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use greenroom_store::{Reachability, Readiness};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;

#[derive(Clone)]
struct Probe {
    health: Reachability,
    draining: CancellationToken,
}

/// `livez` and `readyz`. Liveness does not depend on the database: a restart of the server would not repair
/// that.
pub fn probes(health: Reachability, draining: CancellationToken) -> Router {
    Router::new()
        .route("/livez", get(async || "alive\n"))
        .route("/readyz", get(check_ready))
        .with_state(Probe { health, draining })
}

async fn check_ready(State(probe): State<Probe>) -> (StatusCode, Cow<'static, str>) {
    let not_ready = |reason: Cow<'static, str>| (StatusCode::SERVICE_UNAVAILABLE, reason);
    if probe.draining.is_cancelled() {
        return not_ready("draining\n".into());
    }
    match probe.health.readiness() {
        Readiness::Ready => (StatusCode::OK, "ready\n".into()),
        Readiness::Starting => not_ready("starting: the database has not answered yet\n".into()),
        Readiness::Unreachable => not_ready("the database does not answer\n".into()),
        Readiness::SchemaMismatch(reason) => not_ready(format!("{reason}\n").into()),
    }
}

/// The routes of the operators' port: probes and Prometheus metrics.
pub fn operator_router(
    health: Reachability,
    draining: CancellationToken,
    metrics: PrometheusHandle,
) -> Router {
    let metrics = Router::new().route("/metrics", get(async move || metrics.render()));
    probes(health, draining).merge(metrics)
}
