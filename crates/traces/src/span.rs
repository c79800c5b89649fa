//! Spans, and the context that one process hands on to the next.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::sync::OnceLock;
use std::time::SystemTime;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    FutureExt as _, SpanBuilder, SpanKind, Status, TraceContextExt as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

const TRACEPARENT: &str = "traceparent";
/// The length of a `traceparent` of version 00, the only one that there is. Longer ones of strangers are not read.
const TRACEPARENT_LENGTH: usize = 55;

static TRACER: OnceLock<SdkTracer> = OnceLock::new();

pub(crate) fn set_tracer(provider: &SdkTracerProvider) -> bool {
    TRACER.set(provider.tracer("greenroom")).is_ok()
}

/// Returns whether this process records spans.
pub fn is_on() -> bool {
    TRACER.get().is_some()
}

/// Returns the `traceparent` of the span in which the caller runs.
pub fn current() -> Option<String> {
    if !is_on() {
        return None;
    }
    traceparent(&Context::current())
}

fn traceparent(context: &Context) -> Option<String> {
    let mut fields = HashMap::new();
    TraceContextPropagator::new().inject_context(context, &mut fields);
    fields.remove(TRACEPARENT)
}

fn parsed(traceparent: &str) -> Option<Context> {
    if traceparent.len() != TRACEPARENT_LENGTH {
        return None;
    }
    let fields = HashMap::from([(TRACEPARENT.to_owned(), traceparent.to_owned())]);
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &fields);
    context.span().span_context().is_valid().then_some(context)
}

/// When work began whose trace becomes known only later.
#[derive(Clone, Copy, Debug)]
pub struct Beginning(SystemTime);

impl Beginning {
    #[expect(
        clippy::disallowed_methods,
        reason = "a span is a measurement of this machine, and decides nothing"
    )]
    pub fn now() -> Self {
        Self(SystemTime::now())
    }

    /// Returns a span that began then.
    pub fn span(self, name: impl Into<Cow<'static, str>>, kind: SpanKind, parent: Option<&str>) -> Span {
        let Some(tracer) = TRACER.get() else { return Span(None) };
        let parent = parent.and_then(parsed).unwrap_or_default();
        let span = SpanBuilder::from_name(name)
            .with_kind(kind)
            .with_start_time(self.0)
            .start_with_context(tracer, &parent);
        Span(Some(parent.with_span(span)))
    }
}

/// A piece of work of a trace. It ends when it is dropped.
#[derive(Debug)]
pub struct Span(Option<Context>);

impl Span {
    /// A span that is not recorded.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Begins a span, below that of another process or as the first one of a trace. A parent that is no valid `traceparent` counts as
    /// none.
    pub fn begin(name: impl Into<Cow<'static, str>>, kind: SpanKind, parent: Option<&str>) -> Self {
        if is_on() { Beginning::now().span(name, kind, parent) } else { Self(None) }
    }

    /// Begins a span below this one. Without this one there is none.
    pub fn child(&self, name: impl Into<Cow<'static, str>>) -> Self {
        match self.traceparent() {
            Some(parent) => Self::begin(name, SpanKind::Internal, Some(&parent)),
            None => Self(None),
        }
    }

    pub fn set(&self, key: &'static str, value: impl Into<Value>) {
        if let Some(context) = &self.0 {
            context.span().set_attribute(KeyValue::new(key, value));
        }
    }

    /// Marks the work as failed. The reason is a text of ours.
    pub fn fail(&self, reason: &'static str) {
        if let Some(context) = &self.0 {
            context.span().set_status(Status::error(reason));
        }
    }

    /// Returns what the next process continues.
    pub fn traceparent(&self) -> Option<String> {
        self.0.as_ref().and_then(traceparent)
    }

    /// Runs a future in this span.
    pub async fn run<F: Future>(&self, future: F) -> F::Output {
        match &self.0 {
            Some(context) => future.with_context(context.clone()).await,
            None => future.await,
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            context.span().end();
        }
    }
}
