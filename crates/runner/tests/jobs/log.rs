//! Logs: byte for byte, whatever the network does, and not more than allowed.

use std::sync::atomic::Ordering;

use greenroom_api_types::runner::StepEndStatus;

use crate::support::jobs::job;
use crate::support::network::BadNetwork;
use crate::support::running::Running;
use crate::support::server::Server;

const SEED: u64 = 20_261_115;

/// Bytes of every kind, and hard to guess, so that any that are lost, doubled or swapped are noticed.
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
async fn a_log_arrives_byte_for_byte_over_a_network_that_cuts_connections() {
    let server = Server::start().await;
    let network = BadNetwork::before(server.port, 3 * 1024 * 1024, SEED).await;
    let runner = Running::with_processes(network.port);
    let said = noise(20 * 1024 * 1024);
    let file = runner.folder.path().join("noise");
    std::fs::write(&file, &said).unwrap();
    // In bursts of odd sizes, with pauses.
    let script = format!(
        "i=0; while [ $i -lt 20 ]; do dd if={} bs=1048576 skip=$i count=1 status=none; \
         i=$((i + 1)); [ $((i % 7)) -ne 0 ] || sleep 0.3; done",
        file.display()
    );
    server.give(job(&[("talk", &script)]));
    server.until_complete().await;
    server.told(|record| {
        assert_eq!(record.end("talk").status, StepEndStatus::Succeeded, "{:?}", record.end("talk"));
        assert!(record.log("talk") == said, "{} bytes came, and not the same", record.log("talk").len());
        assert_eq!(record.end("talk").log_bytes, said.len() as u64);
    });
    assert!(network.cuts.load(Ordering::Relaxed) > 5, "the network was too good to tell");
    runner.finish().await;
}

#[tokio::test]
async fn what_is_said_is_seen_while_the_step_still_runs() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let go = runner.folder.path().join("go");
    let script = format!(
        "printf 'a prompt without an end: '; while [ ! -e {} ]; do sleep 0.05 || :; done",
        go.display()
    );
    server.give(job(&[("talk", &script)]));
    server.until("the prompt is seen", |record| record.log("talk") == b"a prompt without an end: ").await;
    std::fs::write(go, "").unwrap();
    server.until_complete().await;
    runner.finish().await;
}

/// Endless, unless somebody ends it.
const CHATTER: &str = "trap '' TERM; while echo 'and another thing, while I am at it'; do :; done";

#[tokio::test]
async fn a_step_that_says_more_than_the_job_allows_is_killed() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let mut chatter = job(&[("talk", CHATTER), ("after", "true")]);
    chatter.log_limit_bytes = 100_000;
    server.give(chatter);
    assert_eq!(server.until_complete().await.error, None);
    server.told(|record| {
        let end = record.end("talk");
        assert_eq!((end.status, end.log_bytes), (StepEndStatus::Failed, 100_000));
        assert!(end.reason.as_ref().unwrap().contains("100000 bytes"), "{:?}", end.reason);
        assert_eq!(record.calls, ["start talk", "end talk", "complete"]);
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_whose_log_the_server_takes_no_more_of_is_killed() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    server.rule(|rules| rules.log_limit = Some(3_000_000));
    server.give(job(&[("talk", CHATTER)]));
    server.until_complete().await;
    server.told(|record| {
        let end = record.end("talk");
        assert_eq!(end.status, StepEndStatus::Failed);
        assert!(end.reason.as_ref().unwrap().contains("to its log"), "{:?}", end.reason);
        assert_eq!(end.log_bytes, record.log("talk").len() as u64);
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_waits_for_a_server_that_takes_its_log_slowly() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let count = runner.folder.path().join("count");
    // Says a mebibyte at a time, and notes how many it got rid of.
    let script = format!(
        "i=0; while [ $i -lt 12 ]; do head -c 1048576 /dev/zero; i=$((i + 1)); echo $i > {}; done",
        count.display()
    );
    server.give(job(&[("talk", &script)]));
    server.until("the step is there", |record| record.calls.contains(&"start talk".to_owned())).await;
    server.rule(|rules| rules.away = true);
    server.until("it has tried in vain", |record| record.turned_away >= 6).await;
    // Four are buffered, some are under way or in the pipe, and the rest it still has to say.
    let said: u32 = std::fs::read_to_string(&count).map_or(0, |text| text.trim().parse().unwrap_or(0));
    assert!(said <= 10, "{said} MiB were read from a step whose log nobody takes");
    server.rule(|rules| rules.away = false);
    server.until_complete().await;
    server.told(|record| assert_eq!(record.log("talk").len(), 12 * 1024 * 1024));
    runner.finish().await;
}
