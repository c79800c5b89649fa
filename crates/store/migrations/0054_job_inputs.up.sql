-- What an attempt of a stage got that other jobs have left: which stage left it, in which pool, and its digest. The archives themselves
-- are deleted in time, so everything is copied.
create table job_inputs (
    organization_id uuid not null,
    job_id uuid not null,
    kind text not null check (kind in ('artifact', 'cache')),
    -- The stage of an artifact, the key of a cache.
    name text not null,
    -- Unknown for caches from before this was recorded.
    stage_key text,
    pool text,
    -- The zone of a cache.
    zone text,
    sha256 text not null,
    primary key (organization_id, job_id, kind, name),
    foreign key (organization_id, job_id) references jobs
);
