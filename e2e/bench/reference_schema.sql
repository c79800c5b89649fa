-- The tables of the reference that `cargo xtask bench locks` measures Greenroom against; its statements are in
-- reference.sql. FROZEN: see there.
--
-- What the effect of a claim and of a release needs, and no more: who holds what under which fence, the history of
-- sessions, an event for each change and a note for who has to act on it. No foreign keys, no checks, no columns that
-- only other commands use.
create schema reference;

-- Nothing that changes is indexed and every page is nearly empty, so an update stays within its page (HOT).
create table reference.environments (
    organization_id uuid not null,
    pipeline_id uuid not null,
    id uuid not null,
    name text not null,
    fence bigint not null default 0,
    sessions bigint not null default 0,
    waiters integer not null default 0,
    session_id uuid,
    holder_id uuid,
    holder_name text,
    holder_kind text,
    context text,
    claimed_at timestamptz,
    expires_at timestamptz,
    max_expires_at timestamptz,
    primary key (organization_id, pipeline_id, name)
) with (fillfactor = 20);

create table reference.sessions (
    organization_id uuid not null,
    id uuid not null,
    environment_id uuid not null,
    ordinal bigint not null,
    active boolean not null,
    status text not null,
    user_id uuid not null,
    user_name text not null,
    user_kind text not null,
    context text,
    fence bigint not null,
    claimed_at timestamptz not null,
    expires_at timestamptz not null,
    max_expires_at timestamptz not null,
    ended_at timestamptz,
    ended_by uuid,
    -- A session is read by its id,
    primary key (organization_id, id)
);
-- in its environment's history,
create unique index on reference.sessions (organization_id, environment_id, ordinal);
-- and by the sweeper.
create index on reference.sessions (expires_at) where active;

create table reference.events (
    position bigint generated always as identity primary key,
    organization_id uuid not null,
    time timestamptz not null,
    type text not null,
    subject text not null,
    actor_id uuid not null,
    data jsonb not null
);

create table reference.outbox (
    position bigint generated always as identity primary key,
    organization_id uuid not null,
    wake text not null,
    session_id uuid not null
);
