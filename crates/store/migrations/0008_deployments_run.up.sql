-- Deployments that run: their stages, the attempts of these (jobs), their steps and logs; who runs them; and whom to wake.

alter table deployments
    -- What it is for: all of the pipeline, a session's environment, or cleaning up after a session.
    add column purpose text not null default 'session' check (purpose in ('pipeline', 'session', 'teardown')),
    add column branch text,
    -- What started it, in one word.
    add column trigger text not null default 'session',
    add column detail text,
    add column cancel_reason text,
    -- How long a runner's step may take to end when it is asked to.
    add column cancel_grace_seconds integer not null default 30,
    add column planned_at timestamptz;
create index deployments_of_pipeline on deployments (organization_id, pipeline_id, id);
-- The live ones: what an engine that has lost everything is rebuilt from, and what stands in a pipeline's way.
create index deployments_live on deployments (organization_id, pipeline_id, id)
    where status not in ('succeeded', 'failed', 'errored', 'canceled', 'superseded');

-- Something was deployed that the environment's `onRelease` stages have to clean up.
alter table environments add column cleanup boolean not null default false;

create table runner_pools (
    organization_id uuid not null references organizations,
    id uuid not null,
    name text not null check (name ~ '^[a-z][a-z0-9-]{0,62}$'),
    -- What the steps of its runners may reach.
    network text not null default 'bridge' check (network in ('none', 'bridge', 'host')),
    created_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, id),
    unique (organization_id, name)
);

create table runners (
    organization_id uuid not null,
    id uuid not null,
    pool_id uuid not null,
    name text not null,
    secret_hash bytea not null unique check (octet_length(secret_hash) = 32),
    hint text not null,
    version text,
    created_by uuid not null,
    created_at timestamptz not null default clock_timestamp(),
    last_seen_at timestamptz,
    revoked_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, pool_id) references runner_pools
);

create table stages (
    organization_id uuid not null,
    deployment_id uuid not null,
    key text not null,
    -- In the order of the file.
    position integer not null,
    name text not null,
    needs text[] not null,
    pool text not null,
    status text not null,
    reason text,
    detail text,
    -- Decided when it was planned: how it ends when its turn comes, and why.
    verdict text,
    verdict_reason text,
    gated boolean not null,
    timeout_seconds bigint not null,
    attempts integer not null,
    backoff_seconds bigint not null,
    retry_at timestamptz,
    attempt integer not null default 0,
    tried integer not null default 0,
    started_at timestamptz,
    ended_at timestamptz,
    primary key (organization_id, deployment_id, key),
    foreign key (organization_id, deployment_id) references deployments
) with (fillfactor = 70);

-- An attempt of a stage: what a runner is given. Never changed after its end.
create table jobs (
    organization_id uuid not null,
    id uuid not null,
    deployment_id uuid not null,
    stage_key text not null,
    attempt integer not null,
    pool_id uuid not null,
    status text not null,
    reason text,
    detail text,
    queued_at timestamptz not null,
    runner_id uuid,
    runner_name text,
    secret_hash bytea,
    -- By which the engine is told that it need not wait any longer.
    task_token bytea,
    lease_expires_at timestamptz,
    started_at timestamptz,
    touched boolean not null default false,
    cancel_reason text,
    ended_at timestamptz,
    artifact_id uuid,
    primary key (organization_id, id),
    unique (organization_id, deployment_id, stage_key, attempt),
    foreign key (organization_id, deployment_id, stage_key) references stages
) with (fillfactor = 70);
create index jobs_live on jobs (organization_id, pool_id, status) where status in ('queued', 'running');

create table step_runs (
    organization_id uuid not null,
    id uuid not null,
    job_id uuid not null,
    position integer not null,
    name text not null,
    status text not null default 'pending',
    exit_code integer,
    reason text,
    outputs jsonb not null default '{}',
    started_at timestamptz,
    ended_at timestamptz,
    -- How much of its log is here, and how much of that is in the object store.
    log_bytes bigint not null default 0,
    stored_bytes bigint not null default 0,
    primary key (organization_id, id),
    unique (organization_id, job_id, position),
    foreign key (organization_id, job_id) references jobs
) with (fillfactor = 70);

-- A log in pieces, by the number of the first byte. Small ones are here until there are enough of them for an object.
create table log_segments (
    organization_id uuid not null,
    step_run_id uuid not null,
    start bigint not null,
    bytes integer not null,
    -- When its first byte was written.
    at timestamptz not null,
    content bytea,
    -- Of a piece that was put together: where each part began, and when, as pairs of byte and millisecond.
    marks bigint[] not null default '{}',
    object text,
    primary key (organization_id, step_run_id, start),
    check ((content is null) <> (object is null))
);

-- What a stage has left for those that need it, in the object store.
create table artifacts (
    organization_id uuid not null,
    id uuid not null,
    deployment_id uuid not null,
    stage_key text not null,
    job_id uuid not null,
    bytes bigint not null,
    sha256 text not null,
    object text not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, id)
);
create index artifacts_of_deployment on artifacts (organization_id, deployment_id, stage_key);

-- The outbox: deployments whose workflows should look at them. Written with the change, delivered until it took.
create table wakes (
    id bigint generated always as identity primary key,
    organization_id uuid not null,
    deployment_id uuid not null,
    due_at timestamptz not null default clock_timestamp()
);
create index wakes_due on wakes (due_at);
alter table wakes set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
