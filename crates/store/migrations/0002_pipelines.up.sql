create table pipelines (
    organization_id uuid not null references organizations,
    id uuid not null,
    slug text not null check (slug ~ '^[a-z][a-z0-9-]{0,62}$'),
    name text not null,
    repository text,
    status text not null default 'active' check (status in ('active', 'stopped', 'archived')),
    stop_mode text check (stop_mode in ('drain', 'pause', 'cancel')),
    stop_reason text,
    stopped_at timestamptz,
    stopped_by uuid,
    definition_version integer not null,
    revision bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, id),
    check ((status = 'stopped') = (stop_mode is not null)),
    check ((stop_mode is null) = (stopped_at is null) and (stop_mode is null) = (stopped_by is null))
);
-- An archived pipeline gives its slug free. The list goes by this index as well.
create unique index pipelines_live_slug on pipelines (organization_id, slug) where status <> 'archived';
create index pipelines_status on pipelines (organization_id, status, slug);

-- Never changed, never deleted: a deployment names the version that it runs.
create table pipeline_versions (
    organization_id uuid not null,
    pipeline_id uuid not null,
    version integer not null check (version > 0),
    source text not null,
    definition jsonb not null,
    digest text not null,
    created_at timestamptz not null default clock_timestamp(),
    created_by uuid not null,
    primary key (organization_id, pipeline_id, version),
    foreign key (organization_id, pipeline_id) references pipelines
);
