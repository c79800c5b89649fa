//! Concurrent writers in two organizations, and readers that have to receive every event once, in order.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::sse::{Read, Stream};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

const WRITERS: usize = 16;
const PIPELINES_PER_WRITER: usize = 12;
/// Half of the writers write to each organization.
const PIPELINES_PER_ORGANIZATION: i64 = (WRITERS * PIPELINES_PER_WRITER / 2) as i64;

/// Reads from the first event to the last. Reconnects whenever the stream ends, and with `breaks_off`
/// disconnects now and then.
async fn follow(server: &TestServer, caller: &Caller, last: i64, breaks_off: bool) -> (Vec<i64>, usize) {
    let (mut sequences, mut ended, started): (Vec<i64>, _, _) = (Vec::new(), 0, Instant::now());
    while sequences.last() != Some(&last) {
        let mut stream = Stream::resume(server, caller, "", sequences.last().copied().unwrap_or(0)).await;
        loop {
            assert!(started.elapsed() < Duration::from_secs(25), "{} of {last}", sequences.len());
            match stream.read(Duration::from_secs(5)).await {
                Read::Message(message) => {
                    assert_eq!(message.data["source"], format!("/organizations/{}", caller.organization));
                    assert_ne!(message.event, "reset");
                    sequences.push(message.id);
                }
                Read::Comment => {}
                Read::Ended => {
                    ended += 1;
                    break;
                }
                Read::Silent => break,
            }
            if sequences.last() == Some(&last) || (breaks_off && sequences.len() % 10 == 0) {
                break;
            }
        }
    }
    (sequences, ended)
}

#[tokio::test]
async fn heavy_every_reader_receives_every_event_once_in_order() {
    let (_database, pool) = TestDatabase::create().await;
    let (one, two) = (TestServer::start(&pool).await, TestServer::start(&pool).await);
    let owners = [one.organization("acme").await, one.organization("other").await];
    // Both begin with the same few events.
    let last = one.head(&pool, &owners[0]).await + PIPELINES_PER_ORGANIZATION;
    let (servers, owners) = ([one, two], &owners);
    let all = &servers;
    let writers = join_all((0..WRITERS).map(|writer| async move {
        for number in 0..PIPELINES_PER_WRITER {
            all[writer % 4 / 2].pipeline(&owners[writer % 2], &format!("w{writer}-{number}")).await;
        }
    }));
    // Readers on both servers, of both organizations.
    let readers = join_all(
        (0..4).map(|reader| follow(&servers[reader / 2], &owners[reader % 2], last, reader % 4 == 1)),
    );
    let (_, results) = tokio::join!(writers, readers);
    for (reader, (sequences, ended)) in results.iter().enumerate() {
        assert_eq!(*sequences, (1..=last).collect::<Vec<_>>(), "reader {reader}");
        assert_eq!(*ended, 0, "the stream of reader {reader} was ended for no reason");
    }
    for (server, owner) in servers.iter().zip(owners) {
        assert_eq!(server.get(owner, "/pipelines").await["pagination"]["total"], PIPELINES_PER_ORGANIZATION);
        assert_eq!(server.head(&pool, owner).await, last);
    }
    let [one, two] = servers;
    one.end().await;
    two.end().await;
}
