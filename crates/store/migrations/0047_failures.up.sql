-- Failures of stages: what is needed to compare them, and the evidence that a worker has taken from the log.

-- The digest of the script that a step ran; null for steps of registries (`step_digest`) and for steps of earlier versions.
alter table step_runs add column script_digest text;

-- The last good attempts of a stage in one place, newest first.
create table good_stages (
    organization_id uuid not null,
    pipeline_id uuid not null,
    stage_key text not null,
    -- The name of the environment; empty for a stage without one.
    place text not null,
    -- The template of the environment, such as `pr-*`.
    template text,
    job_ids uuid[] not null,
    succeeded_at timestamptz not null,
    primary key (organization_id, pipeline_id, stage_key, place),
    foreign key (organization_id, pipeline_id) references pipelines
) with (fillfactor = 50);

-- One failed attempt of a stage. It is inserted when the attempt ends, and due for a worker, which collects its evidence.
create table failures (
    organization_id uuid not null,
    id uuid not null,
    pipeline_id uuid not null,
    deployment_id uuid not null,
    stage_key text not null,
    -- 0 if the stage failed before its first attempt.
    attempt integer not null,
    job_id uuid,
    -- The step that failed; null if none had started.
    step_run_id uuid,
    step text,
    place text not null,
    template text,
    commit_id text not null,
    branch text,
    definition_version integer not null,
    created_by uuid not null,
    status text not null check (status in ('failed', 'errored')),
    reason text not null,
    detail text,
    exit_code integer,
    failed_at timestamptz not null,
    -- Set by the worker. Until `collected_at`, the evidence is being collected.
    collected_at timestamptz,
    category text,
    fingerprint text,
    -- The decisive line, at most 240 bytes.
    decisive text,
    verdict text check (verdict in ('platform', 'flaky', 'not_only_you', 'environment', 'yours', 'unknown')),
    because text[] not null default '{}',
    -- The last good attempt of the stage before this one, in the same place if possible.
    good_job_id uuid,
    -- When a worker takes it: to collect its evidence, or to decide its verdict again.
    due_at timestamptz,
    leased_until timestamptz,
    tries integer not null default 0,
    primary key (organization_id, id),
    unique (organization_id, deployment_id, stage_key, attempt),
    foreign key (organization_id, deployment_id) references deployments
) with (fillfactor = 70);
create index failures_due on failures (due_at) where due_at is not null;
create index failures_of_fingerprint on failures (organization_id, fingerprint, failed_at) where fingerprint is not null;
create index failures_of_commit on failures (organization_id, pipeline_id, commit_id);
create index failures_of_place on failures (organization_id, pipeline_id, place, stage_key, failed_at);
create index failures_by_time on failures (organization_id, failed_at);
create index failures_to_delete on failures (failed_at);

-- The evidence of a failure. It contains text of the log, and is deleted with the log.
create table evidence (
    organization_id uuid not null,
    failure_id uuid not null,
    document jsonb not null,
    primary key (organization_id, failure_id),
    foreign key (organization_id, failure_id) references failures on delete cascade
);

-- What a member has written about a kind of failure.
create table failure_notes (
    organization_id uuid not null references organizations,
    fingerprint text not null,
    text text not null,
    written_by uuid not null,
    written_by_name text not null,
    written_at timestamptz not null,
    primary key (organization_id, fingerprint)
);

-- Finds out whether the same commit has passed elsewhere.
create index deployments_of_commit on deployments (organization_id, pipeline_id, commit_id);
