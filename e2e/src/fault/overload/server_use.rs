//! What the server has used between two moments: processor time and the time that its threads have waited for a
//! processor, by the kernel; and how long the victim's reads took within it, by its own metrics. Other processes on the
//! machine hardly change the first, and the third is free of what the client and the network add.

use std::time::Duration;

use crate::parts::daemon::Daemon;
use crate::parts::machine::ThreadTimes;

const SUM: &str = "greenroom_http_request_seconds_sum{";
const COUNT: &str = "greenroom_http_request_seconds_count{";

/// In quiet windows, the server's threads waited up to 2.9 times as long as they ran on a machine with builds beside, and 6
/// to 15 times with four programs more that never wait.
const MAX_WAIT_RATIO: f64 = 4.0;

/// The server's figures at one moment.
#[derive(Clone, Debug)]
pub(crate) struct ServerSnapshot {
    threads: ThreadTimes,
    reads: ReadTimes,
}

/// The victim's reads until one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ReadTimes {
    seconds: f64,
    count: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ServerUse {
    pub(crate) processor: Duration,
    /// The sum over all threads.
    pub(crate) processor_wait: Duration,
    /// The victim's reads that the server has answered.
    pub(crate) reads: f64,
    /// The total time from the arrival of these reads until their responses began. It contains all queues of the server:
    /// for a slot, for a connection to the database, for a processor.
    pub(crate) in_server: Duration,
}

impl ServerSnapshot {
    pub(crate) async fn of(server: &Daemon) -> anyhow::Result<Self> {
        let threads = ThreadTimes::of(server.pid()?)?;
        Ok(Self { threads, reads: ReadTimes::of(&server.metrics().await?) })
    }

    pub(crate) fn since(&self, earlier: &Self) -> ServerUse {
        let (processor, processor_wait) = self.threads.since(&earlier.threads);
        ServerUse {
            processor,
            processor_wait,
            reads: self.reads.count - earlier.reads.count,
            in_server: Duration::from_secs_f64((self.reads.seconds - earlier.reads.seconds).max(0.0)),
        }
    }
}

impl ServerUse {
    pub(crate) fn processor_per_read(&self) -> Option<f64> {
        self.millis_per_read(self.processor)
    }

    pub(crate) fn processor_wait_per_read(&self) -> Option<f64> {
        self.millis_per_read(self.processor_wait)
    }

    pub(crate) fn in_server_per_read(&self) -> Option<f64> {
        self.millis_per_read(self.in_server)
    }

    /// Returns whether its threads could have run several times as long as they did, because other programs kept the
    /// processors busy.
    pub(crate) fn is_starved(&self) -> bool {
        self.processor_wait.as_secs_f64() > self.processor.as_secs_f64() * MAX_WAIT_RATIO
    }

    /// `None` if the server has answered no read.
    fn millis_per_read(&self, time: Duration) -> Option<f64> {
        (self.reads > 0.0).then(|| time.as_secs_f64() * 1e3 / self.reads)
    }
}

impl ReadTimes {
    /// Reads the server's metrics in the format of Prometheus.
    fn of(metrics: &str) -> Self {
        let sum = |name: &str| {
            let lines = metrics.lines().filter_map(|line| line.strip_prefix(name)?.split_once("} "));
            let values = lines.filter(|(labels, _)| is_victims_read(labels));
            values.filter_map(|(_, value)| value.parse::<f64>().ok()).sum()
        };
        Self { seconds: sum(SUM), count: sum(COUNT) }
    }
}

/// Returns whether these labels are of the victim's reads: successful reads of anything but logs. The attacker's only
/// successful reads are those of logs.
fn is_victims_read(labels: &str) -> bool {
    labels.contains("method=\"GET\"") && labels.contains("status=\"200\"") && !labels.contains("/logs")
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = r#"# TYPE greenroom_http_request_seconds histogram
greenroom_http_request_seconds_bucket{method="GET",route="/api/v1/me",status="200",le="0.001"} 5
greenroom_http_request_seconds_sum{method="GET",route="/api/v1/me",status="200"} 0.5
greenroom_http_request_seconds_count{method="GET",route="/api/v1/me",status="200"} 20
greenroom_http_request_seconds_sum{method="GET",route="/api/v1/organizations/{orgId}/deployments",status="200"} 0.25
greenroom_http_request_seconds_count{method="GET",route="/api/v1/organizations/{orgId}/deployments",status="200"} 5
greenroom_http_request_seconds_sum{method="GET",route="/api/v1/me",status="401"} 70
greenroom_http_request_seconds_count{method="GET",route="/api/v1/me",status="401"} 7
greenroom_http_request_seconds_sum{method="GET",route="/api/v1/organizations/{orgId}/deployments/{id}/steps/{step}/logs/stream",status="200"} 70
greenroom_http_request_seconds_count{method="GET",route="/api/v1/organizations/{orgId}/deployments/{id}/steps/{step}/logs/stream",status="200"} 7
greenroom_http_request_seconds_sum{method="POST",route="/api/v1/runner/jobs/acquire",status="200"} 70
greenroom_http_request_seconds_count{method="POST",route="/api/v1/runner/jobs/acquire",status="200"} 7
"#;

    #[test]
    fn only_the_victims_reads_count() {
        assert_eq!(ReadTimes::of(METRICS), ReadTimes { seconds: 0.75, count: 25.0 });
    }

    #[test]
    fn figures_are_per_read() {
        let server = ServerUse {
            processor: Duration::from_millis(500),
            processor_wait: Duration::from_millis(50),
            reads: 100.0,
            in_server: Duration::from_secs(1),
        };
        assert_eq!(server.processor_per_read(), Some(5.0));
        assert_eq!(server.processor_wait_per_read(), Some(0.5));
        assert_eq!(server.in_server_per_read(), Some(10.0));
        assert_eq!(ServerUse { reads: 0.0, ..server }.in_server_per_read(), None);
    }

    #[test]
    fn a_server_that_waits_more_than_it_runs_is_starved() {
        let processor = Duration::from_millis(500);
        let is_starved = |millis| {
            let processor_wait = Duration::from_millis(millis);
            ServerUse { processor, processor_wait, ..ServerUse::default() }.is_starved()
        };
        assert!(!is_starved(2_000) && is_starved(2_001));
    }
}
