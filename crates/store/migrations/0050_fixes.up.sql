-- Fixes of failures: a commit that is reproduced and verified in one session, and proposed as a pull request.
create table fixes (
    organization_id uuid not null,
    id uuid not null,
    analysis_id uuid not null,
    failure_id uuid not null,
    pipeline_id uuid not null,
    fingerprint text not null,
    -- The commit that fails, and the branch on which it was deployed.
    failing_commit_id text not null,
    failing_branch text,
    -- The commit that fixes it, and the branch on which it is.
    commit_id text not null,
    branch text not null,
    -- The labels of the environments in which it may be verified.
    labels text[] not null,
    runs smallint not null check (runs between 1 and 5),
    succeeded_runs smallint not null default 0,
    status text not null check (status in ('queued', 'waiting', 'reproducing', 'verifying', 'opening', 'opened', 'merged',
        'closed', 'refused', 'failed', 'canceled')),
    reason text,
    detail text check (octet_length(detail) <= 2000),
    requested_by uuid not null,
    requested_by_name text not null,
    requested_by_kind text not null,
    -- The token or browser session of the request. Sessions and deployments are made with its rights of that moment.
    credential_id uuid not null,
    is_browser boolean not null,
    -- Where people see deployments; null without a public address.
    web_url text,
    environment_id uuid,
    session_id uuid,
    reproduction_id uuid,
    verification_ids uuid[] not null default '{}',
    pull_request_number bigint,
    pull_request_url text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- What it waits for has to have happened by then.
    deadline_at timestamptz not null,
    ended_at timestamptz,
    -- When a worker continues it, and until when one has leased it.
    due_at timestamptz,
    leased_until timestamptz,
    tries integer not null default 0,
    primary key (organization_id, id),
    foreign key (organization_id, failure_id) references failures on delete cascade,
    foreign key (organization_id, analysis_id) references analyses on delete cascade,
    check ((status in ('merged', 'closed', 'refused', 'failed', 'canceled')) = (ended_at is not null))
) with (fillfactor = 70);
create unique index fixes_live on fixes (organization_id, pipeline_id, fingerprint)
    where status in ('queued', 'waiting', 'reproducing', 'verifying', 'opening', 'opened');
create index fixes_of_analysis on fixes (organization_id, analysis_id, created_at);
create index fixes_of_failure on fixes (organization_id, failure_id);
create index fixes_due on fixes (due_at) where due_at is not null;
