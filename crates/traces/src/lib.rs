//! Traces in OpenTelemetry's model, sent to a collector by OTLP over HTTP. A deployment is one trace: the context of its request is
//! handed on from process to process as a `traceparent` of W3C Trace Context. Without a collector nothing is recorded.
//!
//! Attributes are ids, routes, statuses, and names of stages and steps; of what a client sends, the request id only. They are never
//! values of requests, secrets, variables or logs.

mod collector;
mod span;

pub use opentelemetry::trace::SpanKind;

pub use self::collector::{Collector, TraceSettings};
pub use self::span::{Beginning, Span, current, is_on};

/// For tests: records spans by another provider than that of a collector. Returns whether it is the first one of the process.
#[doc(hidden)]
pub fn record_with(provider: &opentelemetry_sdk::trace::SdkTracerProvider) -> bool {
    span::set_tracer(provider)
}
