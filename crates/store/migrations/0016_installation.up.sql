-- Which installation this database belongs to. Its id is part of the names of task queues and workflows, so that several
-- installations can share one Temporal namespace.
create table installation (
    singleton boolean primary key default true check (singleton),
    id uuid not null default gen_random_uuid(),
    created_at timestamptz not null default clock_timestamp()
);
insert into installation default values;

-- How often the engine has refused a wake-up: the delay before the next attempt grows with it.
alter table wakes add column attempts integer not null default 0;

-- Live deployments in the order of their ids, for the watchdog, which looks at all organizations' in turn.
create index deployments_live_by_id on deployments (id)
    where status not in ('succeeded', 'failed', 'errored', 'canceled', 'superseded');

-- Deployments that could go on and that the engine has not taken up, since when, and when they are woken again.
create table engine_waits (
    organization_id uuid not null,
    deployment_id uuid not null,
    since timestamptz not null default clock_timestamp(),
    wake_at timestamptz not null default clock_timestamp() + interval '1 minute',
    wakes integer not null default 0,
    primary key (organization_id, deployment_id)
);
create index engine_waits_due on engine_waits (wake_at);
