//! Reads the certificate and its key again after each SIGHUP, and when the files have changed. Both are replaced
//! together, or neither.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::tls::current::Tls;
use crate::tls::files::TlsFiles;
use crate::tls::pair::{self, Fingerprint, Read};

/// How often the files are read. Their times of modification prove nothing, so their contents are compared.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Contents of the files that can't be used.
struct Rejected {
    fingerprint: Fingerprint,
    is_logged: bool,
}

impl Tls {
    /// Replaces the pair until `stop` is canceled.
    pub async fn reload(self, stop: CancellationToken) {
        let Ok(mut hangup) = signal(SignalKind::hangup()) else {
            tracing::error!("can't receive SIGHUP: the TLS certificate is read at the start only");
            return;
        };
        let mut rejected = None;
        loop {
            metrics::gauge!("greenroom_tls_certificate_expires_timestamp_seconds")
                .set(self.current.borrow().ends as f64);
            let is_requested = tokio::select! {
                () = stop.cancelled() => return,
                _ = hangup.recv() => true,
                () = tokio::time::sleep(POLL_INTERVAL) => false,
            };
            let files: Arc<TlsFiles> = Arc::clone(&self.files);
            if let Ok(read) = tokio::task::spawn_blocking(move || pair::read(&files)).await {
                self.replace(read, is_requested, &mut rejected);
            }
        }
    }

    fn replace(&self, read: Read, is_requested: bool, rejected: &mut Option<Rejected>) {
        if read.fingerprint == self.current.borrow().fingerprint {
            *rejected = None;
            if is_requested {
                tracing::info!("the TLS certificate has not changed");
            }
            return;
        }
        match read.pair {
            Ok(pair) => {
                let ends = Timestamp::from_second(pair.ends.cast_signed()).map(|ends| ends.to_string());
                // Before the log line: who has read it may connect immediately.
                self.current.send_replace(Arc::new(pair));
                tracing::info!(ends = ends.unwrap_or_default(), "replaced the TLS certificate");
                *rejected = None;
            }
            Err(error) => {
                // The two files are not replaced at the same moment, so a poll may read one of each pair. It is an
                // error if the next poll reads the same.
                let former = rejected.take().filter(|former| former.fingerprint == read.fingerprint);
                let is_logged = former.as_ref().is_some_and(|former| former.is_logged);
                let is_final = is_requested || former.is_some();
                if is_requested || (is_final && !is_logged) {
                    tracing::error!(
                        error = &*error as &dyn std::error::Error,
                        "could not replace the TLS certificate; the former one stays in use"
                    );
                }
                let is_logged = is_logged || is_final;
                *rejected = Some(Rejected { fingerprint: read.fingerprint, is_logged });
            }
        }
    }
}
