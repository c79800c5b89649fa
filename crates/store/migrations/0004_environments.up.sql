-- Ephemeral environments, their locks, and the sessions that hold them.

-- The columns from `fence` on are the lock. Whoever changes it holds this row (FOR UPDATE) and reads everything else, the
-- queue above all, after that. None of them is indexed, so that updates stay within the page (HOT) and a lock costs the same after a million claims.
create table environments (
    organization_id uuid not null,
    pipeline_id uuid not null,
    id uuid not null,
    name text not null check (name ~ '^[a-z][a-z0-9-]{0,62}$'),
    -- The template that it was made of, such as `pr-*`; null for a named one.
    template text,
    labels text[] not null default '{}',
    url text,
    configuration jsonb not null,
    default_lease_seconds bigint not null,
    longest_lease_seconds bigint not null,
    -- The least role that may take it over by force.
    force_role text not null default 'developer',
    -- Part of the pipeline's present definition. Rows are never deleted: fence and history go on when a name comes back.
    listed boolean not null default true,
    created_at timestamptz not null default clock_timestamp(),

    fence bigint not null default 0,
    session_id uuid,
    holder_id uuid,
    holder_name text,
    holder_kind text,
    context text,
    commit_id text,
    claimed_at timestamptz,
    expires_at timestamptz,
    max_expires_at timestamptz,
    lease_seconds bigint,
    -- The holder has been heard from since it was granted the lock.
    confirmed boolean not null default true,
    waiters integer not null default 0 check (waiters >= 0),
    -- How many sessions there have been: the ordinal of the newest, and the history's total.
    sessions bigint not null default 0,
    used_at timestamptz,
    -- The work slot: the one deployment that may act on the environment.
    slot_deployment_id uuid,

    primary key (organization_id, id),
    unique (organization_id, pipeline_id, name),
    foreign key (organization_id, pipeline_id) references pipelines,
    check ((session_id is null) = (expires_at is null))
) with (fillfactor = 60);

create table sessions (
    organization_id uuid not null,
    id uuid not null,
    environment_id uuid not null,
    -- Dense per environment, so that a page of the history is a range.
    ordinal bigint not null,
    status text not null check (status in ('queued', 'active', 'released', 'expired', 'overridden', 'canceled')),
    user_id uuid not null,
    user_name text not null,
    user_kind text not null,
    context text,
    commit_id text,
    lease_seconds bigint not null,
    longest_seconds bigint not null,
    fence bigint,
    queued_at timestamptz,
    -- When a waiter was last heard from.
    heard_at timestamptz,
    claimed_at timestamptz,
    expires_at timestamptz,
    max_expires_at timestamptz,
    -- When the sweeper should look at it; it may look too early, never too late.
    due_at timestamptz,
    ended_at timestamptz,
    ended_by uuid,
    ended_by_name text,
    override_session_id uuid,
    override_reason text,
    previous_session_id uuid,
    primary key (organization_id, id),
    unique (organization_id, environment_id, ordinal),
    foreign key (organization_id, environment_id) references environments,
    check ((status in ('queued', 'active')) = (ended_at is null))
) with (fillfactor = 90);
create index sessions_due on sessions (due_at) where status in ('queued', 'active');
create index sessions_waiting on sessions (organization_id, environment_id, ordinal) where status = 'queued';

-- A deployment holds its place for the environment's work slot from the moment in which it is accepted.
create table deployments (
    organization_id uuid not null,
    id uuid not null,
    pipeline_id uuid not null,
    definition_version integer not null,
    environment_id uuid,
    session_id uuid,
    fence bigint,
    commit_id text not null,
    status text not null check (status in ('queued', 'running', 'waiting', 'paused', 'canceling',
        'succeeded', 'failed', 'errored', 'canceled', 'superseded')),
    reason text,
    created_by uuid not null,
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    ended_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, pipeline_id) references pipelines,
    check ((status in ('succeeded', 'failed', 'errored', 'canceled', 'superseded')) = (ended_at is not null))
);
create index deployments_of_session on deployments (organization_id, session_id, id) where session_id is not null;
create index deployments_of_environment on deployments (organization_id, environment_id, id) where environment_id is not null;
