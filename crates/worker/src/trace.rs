//! Spans of what happens to a deployment, below the request that created it.

use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_store::{Store, with_db_timeout};
use greenroom_traces::{Beginning, Span, SpanKind, is_on};

/// Returns a span of the deployment's trace, which began before the trace was read. It is not recorded if this process records no
/// traces, or if the deployment has none.
pub async fn span(
    store: &Store,
    organization: OrganizationId,
    deployment: DeploymentId,
    beginning: Beginning,
    name: &'static str,
) -> Span {
    if !is_on() {
        return Span::none();
    }
    match with_db_timeout(store.traceparent(organization, deployment)).await {
        Ok(Some(parent)) => {
            let span = beginning.span(name, SpanKind::Internal, Some(&parent));
            span.set("greenroom.organization_id", organization.to_string());
            span.set("greenroom.deployment_id", deployment.to_string());
            span
        }
        Ok(None) => Span::none(),
        Err(error) => {
            tracing::debug!(error = &error as &dyn std::error::Error, %deployment, "could not read a trace");
            Span::none()
        }
    }
}
