//! Is it alive, is it ready, and how is it doing?

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use greenroom_store::Reachability;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;

#[derive(Clone)]
struct Probe {
    health: Reachability,
    draining: CancellationToken,
}

/// `livez` and `readyz`. Liveness must not depend on the database: restarting us would not bring that back.
pub fn probes(health: Reachability, draining: CancellationToken) -> Router {
    Router::new()
        .route("/livez", get(async || "alive\n"))
        .route("/readyz", get(ready))
        .with_state(Probe { health, draining })
}

async fn ready(State(probe): State<Probe>) -> (StatusCode, &'static str) {
    if probe.draining.is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else if !probe.health.is_reachable() {
        (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer, or is not migrated\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
}

/// What operators reach on a port of its own: the probes and Prometheus metrics.
pub fn operator_router(
    health: Reachability,
    draining: CancellationToken,
    metrics: PrometheusHandle,
) -> Router {
    let metrics = Router::new().route("/metrics", get(async move || metrics.render()));
    probes(health, draining).merge(metrics)
}
