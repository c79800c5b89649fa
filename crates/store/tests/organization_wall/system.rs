//! The list of queries without an organization, and the check of where they are.

use std::path::{Path, PathBuf};

use crate::fold;

/// The beginning of each query, and why it is allowed.
const LISTED: &[(&str, &str)] = &[
    (
        "select t.organization_id, o.slug as organization_slug, t.user_id, m.name as user_name, m.role, t.id as token_id, \
      t.kind as token_kind, t.allow_force as token_allow_force, t.expires_at as token_expires_at, t.scopes, t.pipelines, \
      t.max_sessions, t.lineage, t.name as token_name from api_tokens t join organizations o on o.id = t.organization_id join memberships m on m.organization_id = t.organization_id and \
      m.user_id = t.user_id where t.secret_hash = $1",
        "authentication of users: it finds the organization",
    ),
    (
        "select m.organization_id, o.slug as organization_slug, m.name as user_name, m.role from memberships m",
        "authentication of people: it finds their organizations",
    ),
    (
        "select b.id as \"id!\", m.organization_id, m.role from unnest",
        "the check of the rights of all open streams of browsers",
    ),
    (
        "select 'invariant: events are numbered without gaps'",
        "an invariant of all organizations, for `admin verify`",
    ),
    (
        "select 'invariant: the last event has the last number that was given'",
        "an invariant of all organizations, for `admin verify`",
    ),
    (
        "select 'invariant: a held environment has its active session'",
        "an invariant of all organizations, for `admin verify`",
    ),
    (
        "select 'invariant: an active session holds its environment'",
        "an invariant of all organizations, for `admin verify`",
    ),
    ("select 'invariant: a fence is given once'", "an invariant of all organizations, for `admin verify`"),
    (
        "select 'invariant: the history of an environment is complete'",
        "an invariant of all organizations, for `admin verify`",
    ),
    (
        "select 'invariant: every version of a definition is there'",
        "an invariant of all organizations, for `admin verify`",
    ),
    (
        "select 'invariant: a deployment has its definition and its stages'",
        "an invariant of all organizations, for `admin verify`",
    ),
    (
        "select 'invariant: every stage of an ended deployment has ended'",
        "an invariant of all organizations, for `admin verify`",
    ),
    (
        "select 'invariant: what is live in an environment was deployed there'",
        "an invariant of all organizations, for `admin verify`",
    ),
    ("select 'invariant: a log has no gaps'", "an invariant of all organizations, for `admin verify`"),
    (
        "select 'invariant: a secret has its active version'",
        "an invariant of all organizations, for `admin verify`",
    ),
    (
        "select 'invariant: an organization has an owner'",
        "an invariant of all organizations, for `admin verify`",
    ),
    ("select 'invariant: pipelines are counted'", "an invariant of all organizations, for `admin verify`"),
    (
        "select organization_id::text as \"organization!\", object",
        "the objects of all organizations, for `admin verify`",
    ),
    (
        "select id from organizations order by id",
        "the organizations whose sealed rows are opened, for `admin verify`",
    ),
    ("select exists ( select 1 from memberships where user_id", "a person's memberships, at sign-in"),
    (
        "insert into event_intake (organization_id, type, category, subject, actor_id, data) select m.organization_id",
        "a sign-in is recorded in every organization of the person",
    ),
    (
        "select exists ( select 1 from memberships m where m.user_id = $1 and m.organization_id <> $2",
        "an admin may enroll only people who are members of no other organization",
    ),
    (
        "insert into event_intake (organization_id, type, category, subject, data) select m.organization_id",
        "the operator's sign-in link is recorded in every organization of the person",
    ),
    ("select t.id, m.role from api_tokens t", "the check of the rights of all open streams"),
    ("update api_tokens set last_used_at", "last uses of all organizations' tokens, in one statement"),
    (
        "select m.organization_id, m.user_id from memberships m join organizations o",
        "an operator names an organization by its slug",
    ),
    ("select o.id, clock_timestamp() as", "an operator names an organization by its slug"),
    (
        "select organization_id as \"organization_id!\", id as \"id!\", user_id, pipeline_id, reason",
        "endings of sessions that are repeated, in all organizations",
    ),
    ("with batch as materialized ( select position", "the sequencer"),
    ("select coalesce(extract(epoch from clock_timestamp() - min(time)), 0)", "the sequencer's lag"),
    ("select feed, organization_id, id, sequence", "the feed of all organizations"),
    (
        "select organization_id, environment_id from (select organization_id, id as environment_id, sweep_at",
        "environments that are due for a sweep, in all organizations",
    ),
    (
        "update environments set expires_at = case when confirmed or expires_at is null or expires_at <= $1",
        "deadlines of presence of all organizations, after an absence of the installation",
    ),
    (
        "update sessions set heard_at = greatest(heard_at, least",
        "places in the queues of all organizations, after an absence of the installation",
    ),
    (
        "select organization_id, id as environment_id from environments where cleanup_retry_at",
        "environments whose clean-up is due to be repeated, in all organizations",
    ),
    ("select id from organizations where slug", "an operator names an organization by its slug"),
    (
        "select exists (select 1 from organizations)",
        "the first owner's link is void once an organization exists",
    ),
    (
        "update installation set setup_secret_hash = $1, setup_expires_at = clock_timestamp()",
        "the first owner's link is made while there is no organization",
    ),
    (
        "select distinct s.organization_id, s.environment_id, s.id from unnest",
        "waiting sessions of all open streams",
    ),
    (
        "select organization_id, id from deployments where ended_at",
        "deployments whose logs and artifacts are past their retention, in all organizations",
    ),
    (
        "with queued as materialized ( select organization_id, pool_id, count(*)",
        "the metrics of jobs that wait, in pools of all organizations",
    ),
    (
        "select (select count(*) from (select 1 from sessions where waiting",
        "the metrics of work that is due, in all organizations",
    ),
    ("delete from idempotency_keys where ctid", "expired responses"),
    ("delete from exchanged_tokens where ctid", "tokens of issuers that were exchanged and have expired"),
    (
        "select id, slug from organizations where id = $1 or slug",
        "an exchange of tokens names an organization",
    ),
    (
        "select k.organization_id, k.id, k.master_key, k.wrapped from organization_keys k",
        "an operator wraps the data keys of all organizations with a new master key",
    ),
    (
        "select r.organization_id, r.id, r.name, r.pool_id, r.revoked_at is not null",
        "authentication of runners: it finds the organization",
    ),
    (
        "select r.id from unnest($1::uuid[], $2::uuid[]) as watched",
        "the check of the rights of all runners' downloads",
    ),
    ("select s.id, s.log_bytes, s.ended_at is not null", "the logs that all streams of a server follow"),
    (
        "select d.organization_id, d.id, hashtextextended(jsonb_build_array(d.status",
        "the deployments that all streams of a server follow",
    ),
    (
        "update step_registries r set leased_until",
        "step registries of all organizations that are due to be synchronized",
    ),
    ("update failures f set leased_until", "failures of all organizations whose evidence is to be collected"),
    ("delete from failures where ctid", "failures of all organizations that are past their retention"),
    ("update fixes x set leased_until", "fixes of all organizations that are to be continued"),
    ("update analyses a set leased_until", "analyses of all organizations that wait for a model"),
    (
        "select organization_id, id from analyses where ended_at is null",
        "analyses of all organizations that have not ended before their deadline",
    ),
    ("update wakes w set due_at", "the relay delivers the outbox of all organizations"),
    ("update discarded_objects d set due_at", "objects of all organizations that are due for removal"),
    ("delete from discarded_objects d using unnest", "objects that were removed"),
    ("delete from wakes where id = any($1)", "wake-ups that the relay has delivered"),
    ("update wakes set attempts", "wake-ups of all organizations that the engine has rejected"),
    ("with looked as materialized", "the watchdog scans the live deployments of all organizations"),
    (
        "with due as ( select organization_id, deployment_id from engine_waits",
        "deployments of all organizations that have waited for the engine for too long",
    ),
    (
        "insert into wakes (organization_id, deployment_id) select organization_id, id",
        "the state of a lost engine is restored",
    ),
];

/// Returns the listed queries in full.
pub fn queries() -> Vec<String> {
    let all = crate::queries();
    let mut found = Vec::new();
    for (beginning, why) in LISTED {
        let beginning = fold(beginning);
        let matching: Vec<&String> = all.iter().filter(|query| query.starts_with(&beginning)).collect();
        assert_eq!(matching.len(), 1, "`{beginning}` ({why}) should name one query");
        found.push(matching[0].clone());
    }
    found
}

/// Returns the files below a folder of this crate.
pub fn sources(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}
