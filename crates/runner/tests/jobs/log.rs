//! Logs: delivered byte for byte over an unreliable network, and limited in size.

use std::sync::atomic::Ordering;

use greenroom_api_types::runner::StepEndStatus;

use crate::support::jobs::job;
use crate::support::network::UnreliableNetwork;
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

const SEED: u64 = 20_261_115;

/// Pseudo-random bytes, so that lost, duplicated or reordered bytes are noticed.
fn noise(length: usize) -> Vec<u8> {
    let mut state: u64 = SEED;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_delivered_byte_for_byte_over_a_network_that_cuts_connections() {
    let server = Server::start().await;
    let network = UnreliableNetwork::before(server.port, 3 * 1024 * 1024, SEED).await;
    let runner = TestRunner::with_processes(network.port);
    let expected = noise(20 * 1024 * 1024);
    let file = runner.folder.path().join("noise");
    std::fs::write(&file, &expected).unwrap();
    // Written in bursts with pauses in between.
    let script = format!(
        "i=0; while [ $i -lt 20 ]; do dd if={} bs=1048576 skip=$i count=1 status=none; \
         i=$((i + 1)); [ $((i % 7)) -ne 0 ] || sleep 0.3; done",
        file.display()
    );
    server.give(job(&[("print", &script)]));
    server.until_complete().await;
    server.recorded(|record| {
        assert_eq!(record.end("print").status, StepEndStatus::Succeeded, "{:?}", record.end("print"));
        assert!(record.log("print") == expected, "{} bytes arrived, and differ", record.log("print").len());
        assert_eq!(record.end("print").log_bytes, expected.len() as u64);
    });
    assert!(network.cuts.load(Ordering::Relaxed) > 5, "the network was too reliable for this test");
    runner.finish().await;
}

#[tokio::test]
async fn output_is_delivered_while_the_step_still_runs() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let go = runner.folder.path().join("go");
    let script = format!(
        "printf 'a prompt without an end: '; while [ ! -e {} ]; do sleep 0.05 || :; done",
        go.display()
    );
    server.give(job(&[("print", &script)]));
    server.until("the prompt arrives", |record| record.log("print") == b"a prompt without an end: ").await;
    std::fs::write(go, "").unwrap();
    server.until_complete().await;
    runner.finish().await;
}

/// Writes until it is killed.
const ENDLESS_OUTPUT: &str = "trap '' TERM; while echo 'one more line of endless output'; do :; done";

#[tokio::test]
async fn a_step_that_exceeds_the_log_limit_of_the_job_is_killed() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let mut endless = job(&[("print", ENDLESS_OUTPUT), ("after", "true")]);
    endless.log_limit_bytes = 100_000;
    server.give(endless);
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        let end = record.end("print");
        assert_eq!((end.status, end.log_bytes), (StepEndStatus::Failed, 100_000));
        assert!(end.reason.as_ref().unwrap().contains("100000 bytes"), "{:?}", end.reason);
        assert_eq!(record.calls, ["start print", "end print", "complete"]);
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_that_exceeds_the_log_limit_of_the_server_is_killed() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.log_limit = Some(3_000_000));
    server.give(job(&[("print", ENDLESS_OUTPUT)]));
    server.until_complete().await;
    server.recorded(|record| {
        let end = record.end("print");
        assert_eq!(end.status, StepEndStatus::Failed);
        assert!(end.reason.as_ref().unwrap().contains("to its log"), "{:?}", end.reason);
        assert_eq!(end.log_bytes, record.log("print").len() as u64);
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_blocks_while_its_log_can_not_be_delivered() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let count = runner.folder.path().join("count");
    // Writes one mebibyte after the other, and records how many were written.
    let script = format!(
        "i=0; while [ $i -lt 12 ]; do head -c 1048576 /dev/zero; i=$((i + 1)); echo $i > {}; done",
        count.display()
    );
    server.give(job(&[("print", &script)]));
    server.until("the step is started", |record| record.calls.contains(&"start print".to_owned())).await;
    server.configure(|rules| rules.is_unavailable = true);
    server.until("the runner has retried", |record| record.rejected_calls >= 6).await;
    // Four are buffered, some are being sent or in the pipe, and the rest is not written yet.
    let written: u32 = std::fs::read_to_string(&count).map_or(0, |text| text.trim().parse().unwrap_or(0));
    assert!(written <= 10, "{written} MiB were read from a step whose log is not accepted");
    server.configure(|rules| rules.is_unavailable = false);
    server.until_complete().await;
    server.recorded(|record| assert_eq!(record.log("print").len(), 12 * 1024 * 1024));
    runner.finish().await;
}
