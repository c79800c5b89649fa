//! Records which rows change, to check that a refused request changes nothing. A trigger on each table records it,
//! which costs less than reading every row before and after.

use sqlx::{AssertSqlSafe, PgPool};

use crate::support::database::TestDatabase;

/// Beginnings of the names of tables that background tasks write: the sequencer moves events from the intake
/// into the history, and the relay delivers wake-ups.
const BACKGROUND: &str = "^(event|wakes|engine_waits)";

/// Creates the triggers on all other tables, which are taken from the database, so a new one is included. Each table
/// has its own transaction: one that locked several tables could deadlock with those of the server.
const CREATE_TRIGGERS: &str = r"
do $$
declare
    watched regclass;
    -- Columns that every request may write: when a token or a runner was last used.
    last_use text := '{last_used_at,last_seen_at}';
begin
    create schema row_changes;
    create unlogged table row_changes.changes (
        id bigint generated always as identity primary key,
        relation regclass not null,
        operation text not null
    );
    create function row_changes.record() returns trigger language plpgsql as
        'begin insert into row_changes.changes (relation, operation) values (tg_relid, tg_op); return null; end';
    commit;
    for watched in
        select oid::regclass from pg_class
        where relkind = 'r' and relnamespace = 'public'::regnamespace and relname !~ '{BACKGROUND}'
    loop
        execute format('create trigger row_changes after insert or delete on %s
            for each row execute function row_changes.record()', watched);
        execute format('create trigger row_updates after update on %s for each row
            when (to_jsonb(old) - %L::text[] is distinct from to_jsonb(new) - %2$L::text[])
            execute function row_changes.record()', watched, last_use);
        execute format('create trigger row_truncations after truncate on %s
            for each statement execute function row_changes.record()', watched);
        commit;
    end loop;
end $$";

/// A moment after which changes are listed.
pub struct Changes<'a> {
    pool: &'a PgPool,
    last_id: i64,
    events: i64,
}

impl<'a> Changes<'a> {
    pub async fn watch(pool: &'a PgPool) -> Self {
        let watched: bool = sqlx::query_scalar("select to_regnamespace('row_changes') is not null")
            .fetch_one(pool)
            .await
            .unwrap();
        if !watched {
            let create = CREATE_TRIGGERS.replace("{BACKGROUND}", BACKGROUND);
            sqlx::raw_sql(AssertSqlSafe(create)).execute(pool).await.unwrap();
        }
        let last_id = sqlx::query_scalar("select coalesce(max(id), 0) from row_changes.changes");
        let last_id = last_id.fetch_one(pool).await.unwrap();
        Self { pool, last_id, events: count_events(pool).await }
    }

    /// Returns what has changed since then: all that a request could change, except the last use of tokens and
    /// whether an event is in the intake or the history already; only the number of events counts.
    pub async fn list(&self) -> Vec<String> {
        let changes = "select distinct operation || ' ' || relation from row_changes.changes where id > $1";
        let changes = sqlx::query_scalar(changes).bind(self.last_id).fetch_all(self.pool);
        let mut changes: Vec<String> = changes.await.unwrap();
        let events = count_events(self.pool).await;
        if events != self.events {
            changes.push(format!("events: {events} instead of {}", self.events));
        }
        changes.sort_unstable();
        changes
    }

    /// Fails if anything has changed since then.
    pub async fn assert_none(&self) {
        assert_eq!(self.list().await, Vec::<String>::new());
    }
}

/// One statement, so that it reads one snapshot.
async fn count_events(pool: &PgPool) -> i64 {
    let count = "select (select count(*) from event_intake) + (select count(*) from events)";
    sqlx::query_scalar(count).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn every_change_of_a_row_is_listed() {
    let (_database, pool) = TestDatabase::create().await;
    let execute = async |sql: &'static str| {
        sqlx::raw_sql(sql).execute(&pool).await.unwrap();
    };
    execute("insert into users (id, email) values (gen_random_uuid(), 'a@b.test')").await;
    for (sql, expected) in [
        ("select 1", &[][..]),
        (
            "insert into organizations (id, slug, name) values (gen_random_uuid(), 'acme', 'Acme')",
            &["INSERT organizations"],
        ),
        ("update users set email = 'b@b.test'", &["UPDATE users"]),
        ("update users set email = email", &[]),
        ("begin; update users set email = 'c@b.test'; rollback", &[]),
        ("delete from users", &["DELETE users"]),
        ("truncate group_members", &["TRUNCATE group_members"]),
        (
            "insert into event_intake (organization_id, type, category, subject, data)
             select id, 'x', 'audit', 'x', '{}' from organizations",
            &["events: 1 instead of 0"],
        ),
    ] {
        let changes = Changes::watch(&pool).await;
        execute(sql).await;
        assert_eq!(changes.list().await, expected, "{sql}");
    }
    let unwatched: Vec<(String, bool)> = sqlx::query_as(
        "select relname::text, relname ~ $1 from pg_class
         where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
         and 3 <> (select count(*) from pg_trigger where tgrelid = pg_class.oid and tgname ~ '^row_')",
    )
    .bind(BACKGROUND)
    .fetch_all(&pool)
    .await
    .unwrap();
    let all_background = unwatched.iter().all(|(_, is_background)| *is_background);
    assert!(unwatched.len() >= 6 && all_background, "{unwatched:?}");
}

/// The same columns are left out for every table.
#[tokio::test]
async fn updating_last_used_at_is_ignored() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = crate::fixture::PermissionFixture::new(&pool).await;
    let changes = Changes::watch(&pool).await;
    let used = "update api_tokens set last_used_at = clock_timestamp()";
    let used = sqlx::query(used).execute(&pool).await.unwrap();
    assert!(used.rows_affected() > 0);
    changes.assert_none().await;
    fixture.server.stop().await;
}
