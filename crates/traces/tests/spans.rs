//! Spans as they are exported: which trace they belong to, below which span.

use greenroom_traces::{Beginning, Span, SpanKind, current, is_on, record_with};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Each test is a process of its own, so each has its own recorder.
fn recorder() -> InMemorySpanExporter {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    assert!(record_with(&provider), "another test of this process records already");
    exporter
}

#[test]
fn without_a_collector_nothing_is_recorded_and_nothing_is_handed_on() {
    let span = Span::begin("work", SpanKind::Server, Some(PARENT));
    span.set("greenroom.stage", "build");
    assert_eq!((is_on(), span.traceparent(), current()), (false, None, None));
}

#[tokio::test]
async fn a_span_continues_the_trace_of_another_process() {
    let exporter = recorder();
    let span = Span::begin("work", SpanKind::Server, Some(PARENT));
    let handed_on = span.run(async { current() }).await.unwrap();
    assert!(handed_on.starts_with("00-0af7651916cd43dd8448eb211c80319c-"), "{handed_on}");
    assert_ne!(handed_on, PARENT);
    assert_eq!(current(), None, "the span counts only for what it runs");
    drop(span.child("part"));
    drop(span);
    let spans = exporter.get_finished_spans().unwrap();
    assert_eq!(spans.len(), 2);
    assert_eq!(spans[1].parent_span_id.to_string(), "b7ad6b7169203331");
    assert_eq!(spans[0].parent_span_id, spans[1].span_context.span_id());
    assert!(
        spans
            .iter()
            .all(|span| span.span_context.trace_id().to_string() == "0af7651916cd43dd8448eb211c80319c")
    );
}

#[test]
fn a_parent_that_is_not_valid_counts_as_none() {
    let exporter = recorder();
    let invalid = [
        "",
        "x",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-with-more-of-a-later-version",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
    ];
    for parent in invalid {
        drop(Span::begin("work", SpanKind::Server, Some(parent)));
    }
    let spans = exporter.get_finished_spans().unwrap();
    assert_eq!(spans.len(), invalid.len());
    for (span, parent) in spans.iter().zip(invalid) {
        assert_eq!(span.parent_span_id.to_string(), "0000000000000000", "{parent}");
        assert_ne!(span.span_context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c", "{parent}");
    }
}

#[test]
fn a_trace_that_its_first_process_does_not_record_is_handed_on_and_not_recorded() {
    let exporter = recorder();
    let span = Span::begin(
        "work",
        SpanKind::Server,
        Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"),
    );
    let handed_on = span.traceparent().unwrap();
    assert!(handed_on.ends_with("-00"), "{handed_on}");
    drop(span);
    assert!(exporter.get_finished_spans().unwrap().is_empty());
}

#[test]
fn a_span_begins_when_its_work_began() {
    let exporter = recorder();
    let beginning = Beginning::now();
    let before = Span::begin("earlier", SpanKind::Internal, None);
    drop(before);
    drop(beginning.span("work", SpanKind::Internal, Some(PARENT)));
    let spans = exporter.get_finished_spans().unwrap();
    assert!(spans[1].start_time <= spans[0].start_time);
    assert!(spans[1].end_time >= spans[0].end_time);
}
