//! How PostgreSQL reads the approvals that wait for a user, and what a stage did before: by index ranges only, whatever else
//! the organization has.
#![expect(clippy::unwrap_used, reason = "a test may")]

use std::path::Path;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};

/// Approvals that wait for the user.
const WAITING: u64 = 1_000;
/// Tables whose rows are many in a large organization.
const TABLES: [&str; 5] = ["approvals", "approval_approvers", "approval_votes", "deployments", "sessions"];
/// In the plan of a query of [`WAITING`] approvals, each of them costs a few blocks of each index. All approvals of the
/// organization are in many more.
const MAX_BLOCKS: u64 = 16 * WAITING;

/// Only what the queries use is filled in.
const DROP_CONSTRAINTS: &str = "do $$ declare found record; begin
    for found in select conrelid::regclass as place, conname as name from pg_constraint
        where contype in ('f', 'c') and conrelid::regclass::text in
            ('approvals', 'approval_approvers', 'approval_votes', 'deployments', 'sessions')
    loop execute format('alter table %s drop constraint %I', found.place, found.name); end loop;
    for found in select attrelid::regclass as place, attname as name from pg_attribute
        where attnum > 0 and attnotnull and not attisdropped and attname not in ('organization_id', 'id')
          and (attrelid::regclass::text in ('approvals', 'deployments', 'sessions')
              or attrelid::regclass::text = 'approval_votes' and attname not in ('approval_id', 'user_id'))
    loop execute format('alter table %s alter column %I drop not null', found.place, found.name); end loop;
end $$";

/// Two organizations with 30,000 approvals each, every sixth of which is pending: 1,000 for the group `release`, the
/// others for twelve other groups.
const FILL: [&str; 5] = [
    "create temporary table numbers as select o.number as organization, lpad(to_hex(o.number), 32, '0')::uuid as o, n,
         lpad(to_hex(n), 32, '0')::uuid as id
     from generate_series(1, 2) o (number) cross join generate_series(1, 30000) n",
    "insert into sessions (organization_id, id) select o, id from numbers where n % 3 = 0",
    "insert into deployments (organization_id, id, created_by, session_id, retriers)
     select o, id, id, case when n % 3 = 0 then id end, '{}' from numbers",
    "insert into approvals (organization_id, id, deployment_id, status, requirement, needed, eligible, subject, subject_digest)
     select o, id, id, case when n % 6 = 0 then 'pending' else 'approved' end, '{\"selfApproval\": false}', 2, 5, '{}', ''
     from numbers",
    "insert into approval_votes (organization_id, approval_id, user_id)
     select o, id, lpad(to_hex(100000 + voter), 32, '0')::uuid from numbers cross join generate_series(1, 2) voter
     where n % 6 <> 0",
];
const FILL_APPROVERS: &str = "insert into approval_approvers (organization_id, approver, approval_id)
     select o, case when n % 30 = 0 then 'group:release' else 'group:team-' || n % 90 end, id from numbers where n % 6 = 0";

/// Returns the queries that contain a text, as they were checked against the database.
fn queries(text: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.sqlx");
    let read = |path: std::path::PathBuf| -> String {
        let saved: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        saved["query"].as_str().unwrap().to_owned()
    };
    let all = std::fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap().path()));
    all.filter(|query| query.contains(text)).collect()
}

/// Returns the executed plan of a query for these types and values of its parameters.
async fn plan(connection: &mut PgConnection, query: &str, types: &str, values: &str, mode: &str) -> Value {
    for statement in
        [format!("set plan_cache_mode = {mode}"), format!("prepare planned ({types}) as {query}")]
    {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *connection).await.unwrap();
    }
    let explain = format!("explain (analyze, buffers, format json) execute planned ({values})");
    let plan: Value = sqlx::query_scalar(AssertSqlSafe(explain)).fetch_one(&mut *connection).await.unwrap();
    sqlx::raw_sql("deallocate planned").execute(&mut *connection).await.unwrap();
    plan[0]["Plan"].clone()
}

/// The plan of a query of the approvals that wait for a user.
async fn plan_of_list(connection: &mut PgConnection, query: &str, mode: &str) -> Value {
    let has_offset = query.contains("offset $9");
    let (types, values) = if has_offset { (", bigint", "20, 0") } else { ("", "10001") };
    let organization = "'00000000-0000-0000-0000-000000000001'";
    let user = "'00000000-0000-0000-0000-0000ffffffff'";
    let names = "array['role:developer', 'user:ann@example.test', 'group:release']";
    let types = format!("uuid, text[], uuid, uuid, text, text, uuid[], bigint{types}");
    let values = format!("{organization}, {names}, {user}, null, null, null, null, {values}");
    plan(connection, query, &types, &values, mode).await
}

/// How many blocks the execution of a plan has read.
fn blocks(plan: &Value) -> u64 {
    ["Shared Hit Blocks", "Shared Read Blocks"].iter().filter_map(|key| plan[*key].as_u64()).sum()
}

/// Calls a function for every node of a plan that was executed.
fn walk(node: &Value, visit: &mut impl FnMut(&Value)) {
    if node["Actual Loops"].as_u64() != Some(0) {
        visit(node);
        for child in node["Plans"].as_array().into_iter().flatten() {
            walk(child, visit);
        }
    }
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_approvals_that_wait_for_a_user_are_read_by_index_ranges(pool: PgPool) {
    let mut connection = PgConnection::connect_with(&pool.connect_options()).await.unwrap();
    for statement in std::iter::once(DROP_CONSTRAINTS).chain(FILL).chain([FILL_APPROVERS, "analyze"]) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
    let queries = queries("from approval_approvers n");
    assert_eq!(queries.len(), 2, "the list and its total: {queries:#?}");
    for query in &queries {
        // A prepared statement is planned for its values at first, and for any values later.
        for mode in ["force_custom_plan", "force_generic_plan"] {
            let plan = plan_of_list(&mut connection, query, mode).await;
            let mut scanned = Vec::new();
            walk(&plan, &mut |node| {
                let table = node["Relation Name"].as_str().filter(|table| TABLES.contains(table));
                if let (Some(table), Some("Seq Scan")) = (table, node["Node Type"].as_str()) {
                    scanned.push(table.to_owned());
                }
            });
            assert!(scanned.is_empty(), "{mode}: all rows of {scanned:?} are read: {plan:#}");
            let read = blocks(&plan);
            assert!(read < MAX_BLOCKS, "{mode}: {read} blocks are read: {plan:#}");
        }
    }
    let waiting: i64 = sqlx::query_scalar(
        "select count(*) from approval_approvers where approver = 'group:release' and organization_id = $1",
    )
    .bind(uuid::Uuid::from_u128(1))
    .fetch_one(&mut connection)
    .await
    .unwrap();
    assert_eq!(waiting, 1_000, "as many as are to be read");
}

/// Older deployments of a pipeline, all of them in sessions: none of them is what the stage did before.
const OLDER: [&str; 4] = [
    "insert into pipeline_versions (organization_id, pipeline_id, version)
     values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002', 1)",
    "insert into deployments (organization_id, id, pipeline_id, environment_id, definition_version)
     select '00000000-0000-0000-0000-000000000001', lpad(to_hex(n), 32, '0')::uuid, '00000000-0000-0000-0000-000000000002',
         '00000000-0000-0000-0000-000000000003', 1 from generate_series(1, 1000) n",
    "insert into stages (organization_id, deployment_id, key, status)
     select '00000000-0000-0000-0000-000000000001', lpad(to_hex(n), 32, '0')::uuid, 'release', 'succeeded'
     from generate_series(1, 1000) n",
    "update deployments set environment_id = null where id = '000000000000000000000000000003e8'",
];

/// Each of the 200 deployments that are looked at costs a few blocks of two indexes.
const MAX_BLOCKS_OF_OLDER: u64 = 2_000;

/// A plan for tables that were small when they were analyzed must not be slow when they are not any more: a pipeline of
/// agents makes hundreds of deployments before the next analyze.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_a_stage_did_before_is_found_in_tables_that_were_never_analyzed(pool: PgPool) {
    let mut connection = PgConnection::connect_with(&pool.connect_options()).await.unwrap();
    let tables = "'pipeline_versions', 'deployments', 'stages'";
    let drop_constraints = DROP_CONSTRAINTS
        .replace("'approvals', 'approval_approvers', 'approval_votes', 'deployments', 'sessions'", tables)
        .replace("'approvals', 'deployments', 'sessions'", tables)
        .replace("'id')", "'id', 'pipeline_id', 'version', 'deployment_id', 'key')");
    let no_analyze = "alter table pipeline_versions set (autovacuum_enabled = false);
        alter table deployments set (autovacuum_enabled = false); alter table stages set (autovacuum_enabled = false)";
    for statement in
        [drop_constraints.as_str(), no_analyze, "set enable_seqscan = off"].into_iter().chain(OLDER)
    {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
    let [query] = &queries("with own as (select environment_id from deployments")[..] else {
        panic!("one query")
    };
    let values = "'00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002', 'release',
        '000000000000000000000000000003e8', 'production', 200";
    for mode in ["force_custom_plan", "force_generic_plan"] {
        let plan = plan(&mut connection, query, "uuid, uuid, text, uuid, text, bigint", values, mode).await;
        let read = blocks(&plan);
        assert!(read < MAX_BLOCKS_OF_OLDER, "{mode}: {read} blocks are read: {plan:#}");
    }
}
