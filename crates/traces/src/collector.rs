//! The collector to which spans are sent. It can be away: nothing waits for it, and what it misses is dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use opentelemetry::KeyValue;
use opentelemetry_otlp::{Protocol, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use url::Url;

use crate::span::set_tracer;

const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the end of the process waits for the last spans.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, Default, Args)]
pub struct TraceSettings {
    /// The collector that traces are sent to, by OTLP over HTTP: `http://127.0.0.1:4318`. Without it there are no traces.
    #[arg(long, env = "GREENROOM_OTLP_ENDPOINT", value_name = "URL", value_parser = endpoint, global = true)]
    otlp_endpoint: Option<Url>,
}

/// Reads the collector's address.
fn endpoint(text: &str) -> Result<Url, String> {
    let url =
        Url::parse(text).map_err(|error| format!("{error}; an address looks like http://127.0.0.1:4318"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("the address begins with http:// or https://; OTLP by gRPC is not supported".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("put credentials into OTEL_EXPORTER_OTLP_HEADERS instead".to_owned());
    }
    Ok(url)
}

/// Sends the spans of this process until it is stopped.
#[derive(Debug)]
pub struct Collector(SdkTracerProvider);

impl Collector {
    /// Begins to record spans, if there is a collector to send them to. Once per process.
    pub fn start(
        settings: &TraceSettings,
        service: &'static str,
        version: &'static str,
    ) -> anyhow::Result<Option<Self>> {
        let Some(endpoint) = &settings.otlp_endpoint else { return Ok(None) };
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(traces_address(endpoint))
            .with_timeout(EXPORT_TIMEOUT)
            .build()
            .context("cannot send traces to GREENROOM_OTLP_ENDPOINT")?;
        let resource = Resource::builder()
            .with_service_name(service)
            .with_attribute(KeyValue::new("service.version", version))
            .with_attribute(KeyValue::new("process.pid", i64::from(std::process::id())))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(LoggedExporter { exporter, is_away: AtomicBool::new(false) })
            .with_resource(resource)
            .build();
        set_tracer(&provider);
        Ok(Some(Self(provider)))
    }

    /// Sends what is left. It blocks, so it is called when nothing else runs any more.
    pub fn stop(&self) {
        if let Err(error) = self.0.shutdown_with_timeout(STOP_TIMEOUT) {
            tracing::debug!(error = &error as &dyn std::error::Error, "the last spans were not sent");
        }
    }
}

/// Returns where the collector takes traces: below the path of the endpoint.
fn traces_address(endpoint: &Url) -> String {
    format!("{}/v1/traces", endpoint.as_str().trim_end_matches('/'))
}

/// Logs once when the collector goes away, and once when it is back.
#[derive(Debug)]
struct LoggedExporter<E> {
    exporter: E,
    is_away: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for LoggedExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.exporter.export(batch).await;
        let was_away = self.is_away.swap(sent.is_err(), Ordering::Relaxed);
        match (&sent, was_away) {
            (Err(error), false) => tracing::warn!(
                error = error as &dyn std::error::Error,
                "the collector of traces takes no spans: they are dropped until it does"
            ),
            (Ok(()), true) => tracing::info!("the collector of traces takes spans again"),
            _ => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
