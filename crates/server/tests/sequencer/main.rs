//! A reader of a stream receives every event exactly once: 16 writers record 100,000 events, and some keep
//! their transaction open or roll it back, while the daemons that sequence the events are killed repeatedly.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod daemons;
#[path = "../support/database.rs"]
mod database;
mod one_process;
mod reader;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tokio::task::JoinSet;
use uuid::Uuid;

use daemons::{Daemon, Database};

use crate::database::TestDatabase;

const WRITERS: i32 = 16;
const EVENTS_EACH: i32 = 6_250;
const ORGANIZATIONS: usize = 2;
const TIMEOUT: Duration = Duration::from_secs(150);

#[tokio::test]
async fn heavy_no_event_is_missed_or_repeated() {
    let (_database, pool) = TestDatabase::create().await;
    let database = Database::of(&pool);
    let mut organizations = Vec::new();
    for name in ["one", "two"] {
        organizations.push(database.bootstrap(name).await);
    }
    let server = Daemon::server(&database).await;
    let address = server.address.clone();

    let mut readers = JoinSet::new();
    for organization in &organizations {
        let (url, token) = (
            format!("{address}/api/v1/organizations/{}/events/stream", organization.id),
            organization.token.clone(),
        );
        readers.spawn(async move { reader::read(&url, &token, expected() as usize, TIMEOUT).await });
    }
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let organization = organizations[writer as usize % ORGANIZATIONS].uuid;
        let url = database.url.clone();
        writers.spawn(async move { write(&url, organization, writer).await });
    }

    let killed = kill_sequencers(&database, server, &mut writers).await;
    assert!(killed >= 10, "only {killed} daemons were killed");

    let worker = Daemon::worker(&database).await;
    let server = Daemon::server_on(&database, &address).await;
    let started = Instant::now();
    let mut seen_writers = BTreeSet::new();
    while let Some(read) = readers.join_next().await {
        let events = read.unwrap();
        check(&events);
        seen_writers.extend(events.iter().map(|event| event.writer));
    }
    assert_eq!(seen_writers.len(), WRITERS as usize);
    assert!(started.elapsed() < TIMEOUT);
    drop((worker, server));
}

fn expected() -> i32 {
    WRITERS / ORGANIZATIONS as i32 * EVENTS_EACH
}

/// Keeps two workers and a server running, and kills one of them every so often, until all is written.
async fn kill_sequencers(database: &Database, server: Daemon, writers: &mut JoinSet<()>) -> usize {
    let address = server.address.clone();
    let mut server = server;
    let mut workers = [Daemon::worker(database).await, Daemon::worker(database).await];
    let mut killed = 0;
    loop {
        tokio::select! {
            written = writers.join_next() => match written {
                Some(written) => written.unwrap(),
                None => return killed,
            },
            () = tokio::time::sleep(Duration::from_millis(300)) => {
                if killed % 5 == 4 {
                    server.kill().await;
                    server = Daemon::server_on(database, &address).await;
                } else {
                    let worker = &mut workers[killed % 2];
                    worker.kill().await;
                    *worker = Daemon::worker(database).await;
                }
                killed += 1;
            }
        }
    }
}

/// Writes the numbers of one writer in order, a few in each transaction.
async fn write(url: &str, organization: Uuid, writer: i32) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let (mut next, mut turn) = (0, 0);
    while next < EVENTS_EACH {
        turn += 1;
        let until = (next + 1 + (turn * 7 + writer) % 25).min(EVENTS_EACH);
        let mut transaction = connection.begin().await.unwrap();
        sqlx::query(
            "insert into event_intake (organization_id, type, category, subject, data)
             select $1, 'pipeline.updated', 'deployment', 'pipelines/none', jsonb_build_object('writer', $2::int, 'number', number)
             from generate_series($3::int, $4::int - 1) number",
        )
        .bind(organization)
        .bind(writer)
        .bind(next)
        .bind(until)
        .execute(&mut *transaction)
        .await
        .unwrap();
        if turn % 10 == writer % 10 {
            tokio::time::sleep(Duration::from_millis(20 * u64::from(turn.unsigned_abs() % 12))).await;
        }
        if turn % 17 == 3 {
            // The same numbers are written again after the rollback.
            transaction.rollback().await.unwrap();
            continue;
        }
        transaction.commit().await.unwrap();
        next = until;
    }
}

/// Checks that sequences have no gap, and that each number of a writer occurs once, in the order of writing.
fn check(events: &[reader::Read]) {
    assert_eq!(events.len(), expected() as usize);
    let mut next = std::collections::HashMap::new();
    for pair in events.windows(2) {
        assert_eq!(pair[1].sequence, pair[0].sequence + 1, "a gap or a repetition");
    }
    for event in events {
        let number: &mut i64 = next.entry(event.writer).or_insert(0);
        assert_eq!(event.number, *number, "writer {} out of order", event.writer);
        *number += 1;
    }
}
