-- Secrets. Values are sealed by the server: a master key, which is not in the database, wraps one data key per organization, and that
-- one seals the values.

create table organization_keys (
    organization_id uuid not null references organizations,
    id uuid not null,
    -- The id of the master key that wraps it.
    master_key text not null,
    wrapped bytea not null,
    created_at timestamptz not null default clock_timestamp(),
    -- Set when a newer key was made: this one opens what it has sealed, and seals nothing more.
    retired_at timestamptz,
    primary key (organization_id, id)
);
create unique index organization_keys_active on organization_keys (organization_id) where retired_at is null;

create table secrets (
    organization_id uuid not null references organizations,
    id uuid not null,
    name text not null check (name ~ '^[a-z][a-z0-9-]{0,62}$'),
    scope text not null check (scope in ('organization', 'pipeline', 'environment')),
    pipeline_id uuid,
    -- A name, or a template such as `pr-*`.
    environment text,
    description text,
    policy jsonb not null default '{}',
    -- Set if the platform itself uses it, and no step gets it.
    usage jsonb,
    active_version integer not null,
    newest_version integer not null,
    revision bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    created_by uuid not null,
    updated_at timestamptz not null default clock_timestamp(),
    deleted_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, pipeline_id) references pipelines,
    check ((scope = 'organization') = (pipeline_id is null)),
    check ((scope = 'environment') = (environment is not null)),
    check (active_version between 1 and newest_version)
);
-- A deleted secret gives its name free. Steps find their secrets by this index as well.
create unique index secrets_live_name on secrets (organization_id, name, scope, pipeline_id, environment) nulls not distinct
    where deleted_at is null;

create table secret_versions (
    organization_id uuid not null,
    secret_id uuid not null,
    version integer not null check (version > 0),
    key_id uuid,
    nonce bytea,
    sealed bytea,
    -- The length of the value.
    bytes integer not null,
    status text not null check (status in ('staged', 'active', 'retired', 'destroyed')),
    created_at timestamptz not null default clock_timestamp(),
    created_by uuid not null,
    -- When it became active for the last time.
    activated_at timestamptz,
    destroyed_at timestamptz,
    primary key (organization_id, secret_id, version),
    foreign key (organization_id, secret_id) references secrets,
    foreign key (organization_id, key_id) references organization_keys,
    check ((status = 'destroyed') = (sealed is null)),
    check ((sealed is null) = (nonce is null) and (sealed is null) = (key_id is null)),
    check ((status = 'destroyed') = (destroyed_at is not null))
);
create unique index secret_versions_active on secret_versions (organization_id, secret_id) where status = 'active';
create index secret_versions_of_key on secret_versions (organization_id, key_id) where key_id is not null;

-- Who got which version, one row per secret and reader: a step, or a job if the platform itself used it.
create table secret_reads (
    organization_id uuid not null,
    secret_id uuid not null,
    job_id uuid not null,
    step_run_id uuid,
    version integer not null,
    deployment_id uuid not null,
    stage_key text not null,
    attempt integer not null,
    runner_id uuid not null,
    read_at timestamptz not null default clock_timestamp(),
    foreign key (organization_id, secret_id, version) references secret_versions,
    foreign key (organization_id, job_id) references jobs
);
create unique index secret_reads_once on secret_reads (organization_id, secret_id, job_id, step_run_id) nulls not distinct;
create index secret_reads_of_secret on secret_reads (organization_id, secret_id, read_at desc);
create index secret_reads_of_deployment on secret_reads (organization_id, deployment_id, read_at);
create index secret_reads_of_step on secret_reads (organization_id, step_run_id) where step_run_id is not null;

-- With the reasons `secret_missing` and `secret_denied`.
create or replace function is_deployment_reason(reason text) returns boolean
    language plpgsql immutable strict parallel safe as $$
begin
    return reason = any ('{step_failed, timed_out, runner_lost, no_runner, runner_error, commit_not_found, commit_not_on_branch,
        repository_unavailable, image_not_found, pool_restricted, secret_missing, secret_denied, unsupported, invalid_definition,
        condition_limit, canceled_by_user, session_ended, pipeline_stopped, abandoned, given_up, condition_false, only_ephemeral,
        upstream_failed, upstream_skipped, deployment_canceled, newer_deployment, "a newer deployment"}');
end $$;
