//! While the installation can't be reached, deadlines of presence don't run.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{DEFINITION, EnvironmentFixture};
use crate::support::Caller;
use crate::support::database::TestDatabase;
use crate::support::eventually;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Lets time pass in which nothing of the installation ran: also the last sweep is then as long ago.
async fn be_absent(fixture: &EnvironmentFixture, seconds: i64) {
    fixture.age(seconds).await;
    let sql = "update sweeps set swept_at = swept_at - $1 * interval '1 second'";
    sqlx::query(sql).bind(seconds).execute(&fixture.pool).await.unwrap();
}

/// Does what the worker does after an absence, and at every sweep.
async fn sweep(fixture: &EnvironmentFixture) -> bool {
    let was_absent = fixture.server.server.app.store.record_sweep().await.unwrap().is_some();
    fixture.sweep().await;
    was_absent
}

async fn read(fixture: &EnvironmentFixture, session: &str) -> Value {
    fixture.get(&fixture.owner, &format!("/sessions/{session}")).await.is(200)["data"].clone()
}

async fn heartbeat(fixture: &EnvironmentFixture, by: &Caller, session: &str) -> Value {
    let path = format!("/sessions/{session}/heartbeat");
    fixture.send(by, Method::POST, &path, Value::Null).await.is(200)["data"].clone()
}

#[tokio::test]
async fn an_outage_ends_no_place_in_the_queue() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    assert!(!sweep(&fixture).await, "the first sweep measures nothing");
    for (seconds, absent) in [(5, false), (11, true), (126, true), (600, true)] {
        be_absent(&fixture, seconds).await;
        assert_eq!(sweep(&fixture).await, absent, "{seconds}");
        assert_eq!(read(&fixture, &waiting).await["status"], "queued", "{seconds}");
    }
    let sql = "select handover_due_at::text from environments where waiters > 0";
    let requested: Option<String> = sqlx::query_scalar(sql).fetch_one(&pool).await.unwrap();
    assert!(requested.is_none(), "nobody has requested a hand-over");
    // There was no heartbeat: 5 s have passed in which one could have been received.
    fixture.age(100).await;
    sweep(&fixture).await;
    assert_eq!(read(&fixture, &waiting).await["status"], "queued");
    fixture.age(16).await;
    sweep(&fixture).await;
    assert_eq!(read(&fixture, &waiting).await["status"], "canceled");
    fixture.end().await;
}

/// What is left of a person's stay is extended by the absence, and not by more.
#[tokio::test]
async fn an_outage_shortens_no_stay() {
    let (_database, pool) = TestDatabase::create().await;
    let definition =
        DEFINITION.replace("max: 2h }, queue: { maxStay: 2m }", "max: 24h }, queue: { maxStay: 10m }");
    let fixture = EnvironmentFixture::with(&pool, &definition).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    sweep(&fixture).await;
    fixture.age(500).await;
    be_absent(&fixture, 600).await;
    assert!(sweep(&fixture).await);
    for (seconds, status) in [(90, "queued"), (11, "canceled")] {
        fixture.age(seconds).await;
        sweep(&fixture).await;
        assert_eq!(read(&fixture, &waiting).await["status"], status);
    }
    fixture.end().await;
}

/// A command that comes before the sweeper ends nothing either, and what it writes is extended only once.
#[tokio::test]
async fn the_first_command_after_an_outage_ends_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    sweep(&fixture).await;
    be_absent(&fixture, 300).await;
    fixture.claim(&fixture.owner, json!({})).await.is(409);
    assert_eq!(heartbeat(&fixture, &fixture.mate, &waiting).await["status"], "queued");
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    assert_eq!(read(&fixture, &waiting).await["status"], "active");
    assert!(sweep(&fixture).await);
    // The turn began after the outage, so it has its 60 seconds and no more.
    fixture.age(61).await;
    sweep(&fixture).await;
    assert_eq!(read(&fixture, &waiting).await["status"], "canceled");
    fixture.end().await;
}

#[tokio::test]
async fn an_outage_ends_no_turn() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    sweep(&fixture).await;
    be_absent(&fixture, 300).await;
    assert!(sweep(&fixture).await);
    assert_eq!(read(&fixture, &waiting).await["status"], "active");
    assert!(read(&fixture, &waiting).await["confirmBy"].is_string());
    assert_eq!(heartbeat(&fixture, &fixture.mate, &waiting).await["confirmBy"], Value::Null);
    fixture.end().await;
}

/// Waits until a statement of the product waits for a lock of `lock_type`, such as `relation` or `transactionid`.
async fn waits_for(fixture: &EnvironmentFixture, lock_type: &str, count: i64) {
    let sql = "select count(distinct l.pid) from pg_locks l join pg_stat_activity a using (pid)
               where not l.granted and l.locktype = $1 and a.datname = current_database()";
    let waiting = || async {
        sqlx::query_scalar::<_, i64>(sql).bind(lock_type).fetch_one(&fixture.pool).await.unwrap() == count
    };
    assert!(eventually(TIMEOUT, waiting).await, "{count} do not wait for {lock_type}");
}

/// A sweeper and a command at the same time. The command reads either all that the sweeper has written, or nothing of it.
#[tokio::test]
async fn a_sweep_during_a_command_hides_no_absence() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    sweep(&fixture).await;
    be_absent(&fixture, 300).await;
    let mut blocker = fixture.pool.begin().await.unwrap();
    sqlx::query("lock table sessions in access exclusive mode").execute(&mut *blocker).await.unwrap();
    let queued = fixture.claim(&fixture.owner, json!({ "queue": true }));
    let swept = async {
        // The command has locked its environment and is about to read the queue.
        waits_for(&fixture, "relation", 1).await;
        fixture.server.server.app.store.record_sweep().await.unwrap()
    };
    let unblocked = async {
        waits_for(&fixture, "transactionid", 1).await;
        blocker.commit().await.unwrap();
    };
    let (queued, swept, ()) = tokio::join!(queued, swept, unblocked);
    assert!(swept.is_some());
    queued.session();
    assert_eq!(read(&fixture, &waiting).await["status"], "queued");
    fixture.end().await;
}

/// A command that waits for a sweeper extends nothing again: who is over then would wait until the next command.
#[tokio::test]
async fn a_command_after_a_sweep_extends_nothing_twice() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let turn = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let waiting = fixture.claim(&fixture.owner, json!({ "queue": true })).await.session();
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    assert_eq!(heartbeat(&fixture, &fixture.owner, &waiting).await["status"], "queued");
    // 40 s of 60 and 100 s of 120 are left.
    fixture.age(20).await;
    sweep(&fixture).await;
    be_absent(&fixture, 300).await;
    let mut blocker = fixture.pool.begin().await.unwrap();
    let sql = "select from sessions where waiting for update";
    sqlx::query(sql).execute(&mut *blocker).await.unwrap();
    let store = &fixture.server.server.app.store;
    let commanded = async {
        // The sweeper has locked the environment.
        waits_for(&fixture, "transactionid", 1).await;
        let unblocked = async {
            waits_for(&fixture, "transactionid", 2).await;
            blocker.commit().await.unwrap();
        };
        tokio::join!(fixture.claim(&fixture.dev, json!({ "queue": true })), unblocked).0
    };
    let (swept, commanded) = tokio::join!(store.record_sweep(), commanded);
    assert!(swept.unwrap().is_some());
    commanded.session();
    let sql = "select extract(epoch from e.expires_at - clock_timestamp())::float8, extract(epoch from e.sweep_at - clock_timestamp())::float8
               from environments e join sessions s on s.id = e.session_id where 'ses_' || s.id = $1";
    let (turn_left, due): (f64, f64) =
        sqlx::query_as(sql).bind(&turn).fetch_one(&fixture.pool).await.unwrap();
    assert!(
        turn_left < 41.0 && due < 41.0,
        "{turn_left} s of the turn are left, and the next sweep is in {due} s"
    );
    fixture.end().await;
}

/// The response must not depend on whether the sweeper or the client comes first.
#[tokio::test]
async fn a_turn_is_confirmed_before_the_first_sweep() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    for confirmation in ["heartbeat", "renew"] {
        let held = fixture.claim(&fixture.dev, json!({})).await.session();
        let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
        fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
        sweep(&fixture).await;
        be_absent(&fixture, 300).await;
        let path = format!("/sessions/{waiting}/{confirmation}");
        let confirmed = fixture.send(&fixture.mate, Method::POST, &path, Value::Null).await.is(200);
        assert_eq!(confirmed["data"]["status"], "active", "{confirmation}");
        assert_eq!(confirmed["data"]["confirmBy"], Value::Null, "{confirmation}");
        fixture.delete(&fixture.mate, &format!("/sessions/{waiting}")).await.is(200);
        assert!(sweep(&fixture).await);
    }
    fixture.end().await;
}

/// A holder who could not be reached has not been silent.
#[tokio::test]
async fn an_outage_extends_the_grace_of_a_request_for_hand_over() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let path = format!("/sessions/{held}/request-handover");
    fixture.send(&fixture.mate, Method::POST, &path, json!({ "graceSeconds": 60 })).await.is(202);
    sweep(&fixture).await;
    be_absent(&fixture, 300).await;
    assert!(sweep(&fixture).await);
    assert_eq!(read(&fixture, &held).await["status"], "active");
    fixture.age(61).await;
    sweep(&fixture).await;
    assert_eq!(read(&fixture, &held).await["status"], "released");
    fixture.end().await;
}

/// The lease of a holder who has confirmed it ends by the clock, whatever runs.
#[tokio::test]
async fn a_lease_ends_during_an_outage() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({ "ttlSeconds": 120 })).await.session();
    sweep(&fixture).await;
    be_absent(&fixture, 300).await;
    assert_eq!(read(&fixture, &held).await["status"], "expired");
    assert!(sweep(&fixture).await);
    assert_eq!(read(&fixture, &held).await["status"], "expired");
    fixture.claim(&fixture.mate, json!({})).await.is(201);
    fixture.end().await;
}
