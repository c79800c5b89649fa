-- Freezes: times at which no stage begins in lasting environments.

create table freezes (
    organization_id uuid not null references organizations,
    id uuid not null,
    name text not null,
    reason text not null,
    -- An empty list means all.
    pipelines uuid[] not null,
    environments text[] not null,
    -- Either between two instants …
    from_at timestamptz,
    to_at timestamptz,
    -- … or every week by the wall clock of a zone: a list of `{"from": "fri 16:00", "to": "mon 08:00"}`.
    weekly jsonb not null,
    zone text,
    revision bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    created_by uuid not null,
    updated_at timestamptz not null default clock_timestamp(),
    -- Set when it was deleted. It holds no more, and stays readable.
    ended_at timestamptz,
    primary key (organization_id, id),
    check ((from_at is null) = (to_at is null)),
    check ((from_at is null) = (zone is not null)),
    check ((from_at is null) = (weekly <> '[]')),
    check (from_at < to_at)
);
-- Those that may hold: a stage that is about to begin reads them.
create index freezes_not_ended on freezes (organization_id, name) where ended_at is null;
