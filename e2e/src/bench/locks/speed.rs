//! The part `speed`: pairs of claim and release per second through HTTP, divided by the rate of the reference
//! with as many clients. The sides alternate on one PostgreSQL. The tables of both grow from run to run, and
//! are vacuumed before each run.

use std::time::{Duration, Instant};

use anyhow::bail;
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::fixture::LockFixture;
use super::load::{Load, load};
use super::reference::Reference;
use super::{BenchLocks, Figures};
use crate::bench::{median, print_progress};
use crate::parts::cpu::{self, Cpu};
use crate::stack::{Process, Stack};

const WARM_UP: u32 = 3;
const SEQUENCING_TIMEOUT: Duration = Duration::from_secs(120);

/// One run of one side; microseconds are per pair.
struct Run {
    pairs_per_second: f64,
    server_micros: f64,
    worker_micros: f64,
    database_micros: f64,
    client_micros: f64,
    /// The number of index tuples read from sessions. It is high if PostgreSQL scans sessions that are not
    /// needed.
    entries_read: f64,
    /// The share of the machine that other programs used, of all its processors.
    foreign_share: f64,
}

/// The programs whose processor time is measured.
struct Meters<'a> {
    server: &'a Process,
    worker: &'a Process,
    postmaster: u32,
}

struct Reading {
    server: Cpu,
    worker: Cpu,
    database: Cpu,
    own: Cpu,
    children: Cpu,
    machine: Cpu,
    entries_read: f64,
}

pub(crate) async fn measure(arguments: &BenchLocks) -> anyhow::Result<Figures> {
    print_progress("speed: starting PostgreSQL, a server and a worker");
    let stack = Stack::start("bench-locks").await?;
    let measured = alternate(arguments, &stack).await;
    stack.end().await?;
    measured
}

async fn alternate(arguments: &BenchLocks, stack: &Stack) -> anyhow::Result<Figures> {
    let organization = stack.organization("bench", 0).await?;
    let (server, worker) = (stack.server().await?, stack.worker().await?);
    let fixture = LockFixture::make(&server, &organization, arguments.connections).await?;
    let mut connection = stack.connect().await?;
    let reference = Reference::make(&mut connection, &organization).await?;
    let backend: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut connection).await?;
    let meters =
        Meters { server: &server, worker: &worker, postmaster: cpu::parent_of(u32::try_from(backend)?)? };
    let connections = arguments.connections;

    load(&fixture, connections, WARM_UP).await?;
    reference.run(stack, connections, WARM_UP).await?;
    let (mut ours, mut references, mut behind) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=arguments.runs {
        Reference::vacuum(&mut connection).await?;
        let before = meters.read(&mut connection, "public").await?;
        let own = load(&fixture, connections, arguments.seconds).await?;
        let own = Run::of(&own, &before, &meters.read(&mut connection, "public").await?);
        // Pending events are sequenced before the other side's turn, which must not pay for them.
        behind.push(wait_until_sequenced(&mut connection).await?);

        Reference::vacuum(&mut connection).await?;
        let before = meters.read(&mut connection, "reference").await?;
        let bare = reference.run(stack, connections, arguments.seconds).await?;
        let bare = Run::of(&bare, &before, &meters.read(&mut connection, "reference").await?);
        print_progress(&format!(
            "run {number}: {:.0} pairs/s, reference {:.0}, ratio {:.3}; µs of processor per pair: server {:.0}, \
             PostgreSQL {:.0} (reference {:.0}); others had {:.0} % and {:.0} % of the machine",
            own.pairs_per_second,
            bare.pairs_per_second,
            own.pairs_per_second / bare.pairs_per_second,
            own.server_micros,
            own.database_micros,
            bare.database_micros,
            own.foreign_share * 100.0,
            bare.foreign_share * 100.0,
        ));
        ours.push(own);
        references.push(bare);
    }
    server.end().await;
    worker.end().await;
    let ratios = ours.iter().zip(&references).map(|(own, bare)| own.pairs_per_second / bare.pairs_per_second);
    let ratios: Vec<f64> = ratios.collect();
    let details = json!({
        "ratios": ratios,
        "connections": connections,
        "seconds": arguments.seconds,
        "ours": Run::figures(&ours),
        "reference": Run::figures(&references),
        "secondsUntilAllEventsWereTold": behind,
        "machineLoadAtTheEnd": cpu::machine_load()?,
    });
    Ok(Figures::from_iter([
        ("claimReleaseRatio".to_owned(), json!(median(ratios))),
        ("serverCpuMicrosPerClaim".to_owned(), json!(median_of(&ours, |run| run.server_micros))),
        ("speed".to_owned(), details),
    ]))
}

impl Meters<'_> {
    async fn read(&self, connection: &mut PgConnection, schema: &str) -> anyhow::Result<Reading> {
        // PostgreSQL's processes report their statistics once a second.
        let entries_read: Option<f64> = sqlx::query_scalar(
            "select sum(idx_tup_read)::float8 from pg_stat_user_indexes where schemaname = $1 and relname = 'sessions'",
        )
        .bind(schema)
        .fetch_one(connection)
        .await?;
        Ok(Reading {
            server: Cpu::of_process(self.server.pid()?)?,
            worker: Cpu::of_process(self.worker.pid()?)?,
            database: Cpu::of_postgres(self.postmaster)?,
            own: Cpu::own()?,
            children: Cpu::of_ended_children()?,
            machine: Cpu::of_machine()?,
            entries_read: entries_read.unwrap_or_default(),
        })
    }
}

impl Run {
    fn of(load: &Load, before: &Reading, after: &Reading) -> Self {
        let used = |part: fn(&Reading) -> Cpu| part(after).since(part(before)).micros();
        let (server, worker, database) =
            (used(|read| read.server), used(|read| read.worker), used(|read| read.database));
        let client = used(|read| read.own) + used(|read| read.children);
        let foreign = used(|read| read.machine) - server - worker - database - client;
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        let pairs = load.pairs as f64;
        Self {
            pairs_per_second: pairs / load.seconds,
            server_micros: server / pairs,
            worker_micros: worker / pairs,
            database_micros: database / pairs,
            client_micros: client / pairs,
            entries_read: (after.entries_read - before.entries_read) / pairs,
            foreign_share: foreign.max(0.0) / (load.seconds * 1e6 * processors),
        }
    }

    fn figures(runs: &[Self]) -> Value {
        json!({
            "pairsPerSecond": median_of(runs, |run| run.pairs_per_second),
            "serverCpuMicrosPerPair": median_of(runs, |run| run.server_micros),
            "workerCpuMicrosPerPair": median_of(runs, |run| run.worker_micros),
            "databaseCpuMicrosPerPair": median_of(runs, |run| run.database_micros),
            "clientCpuMicrosPerPair": median_of(runs, |run| run.client_micros),
            "sessionIndexEntriesReadPerPair": median_of(runs, |run| run.entries_read),
            "othersShareOfMachine": median_of(runs, |run| run.foreign_share),
        })
    }
}

fn median_of(runs: &[Run], figure: fn(&Run) -> f64) -> f64 {
    median(runs.iter().map(figure).collect())
}

/// Waits until every event is sequenced. Returns how long that took.
async fn wait_until_sequenced(connection: &mut PgConnection) -> anyhow::Result<f64> {
    let started = Instant::now();
    while sqlx::query_scalar("select exists (select from event_intake)").fetch_one(&mut *connection).await? {
        if started.elapsed() > SEQUENCING_TIMEOUT {
            bail!("events were still waiting for their numbers after {SEQUENCING_TIMEOUT:?}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(started.elapsed().as_secs_f64())
}
