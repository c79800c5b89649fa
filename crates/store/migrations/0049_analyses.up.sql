-- Analyses of failures that members have requested, and their feedback. They are deleted with their failure, as events are.
create table analyses (
    organization_id uuid not null,
    id uuid not null,
    failure_id uuid not null,
    status text not null check (status in ('queued', 'collecting', 'analyzing', 'succeeded', 'failed', 'refused')),
    reason text check (reason in ('evidence_not_collected')),
    -- What the evidence was when the analysis ended. The verdict of the failure may be decided again later.
    category text,
    fingerprint text,
    -- The decisive line, at most 240 bytes, and its number; 0 if it is not a line of the log.
    decisive text,
    decisive_line bigint,
    verdict text check (verdict in ('platform', 'flaky', 'not_only_you', 'environment', 'yours', 'unknown')),
    created_by uuid not null,
    created_by_name text not null,
    created_at timestamptz not null,
    -- An analysis that still waits for the evidence at this time fails.
    deadline_at timestamptz not null,
    ended_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, failure_id) references failures on delete cascade,
    check ((status in ('succeeded', 'failed', 'refused')) = (ended_at is not null))
) with (fillfactor = 70);
create index analyses_of_failure on analyses (organization_id, failure_id);
create index analyses_live on analyses (deadline_at) where ended_at is null;

-- Whether an analysis was helpful: one row per person.
create table analysis_feedback (
    organization_id uuid not null,
    analysis_id uuid not null,
    user_id uuid not null,
    user_name text not null,
    helpful boolean not null,
    comment text check (octet_length(comment) <= 1000),
    given_at timestamptz not null,
    primary key (organization_id, analysis_id, user_id),
    foreign key (organization_id, analysis_id) references analyses on delete cascade
);
