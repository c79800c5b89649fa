-- Step registries: git repositories that publish steps by tags. What was read of them stays, whatever becomes of the repository.

create table step_registries (
    organization_id uuid not null references organizations,
    id uuid not null,
    -- The first part of `uses: NAME/step@v2`.
    name text not null,
    url text not null,
    -- Lines with a name and a public SSH key.
    signers text[] not null,
    require_signature boolean not null,
    -- A version is not resolved before it has been known for this long.
    minimum_age_seconds integer not null check (minimum_age_seconds >= 0),
    status text not null check (status in ('active', 'degraded', 'disabled')),
    -- The last synchronization that did not fail.
    synced_at timestamptz,
    next_sync_at timestamptz not null default clock_timestamp(),
    -- A worker synchronizes it until then. The result of one that has lost its lease does not count.
    leased_until timestamptz,
    -- Failed synchronizations since the last one that did not fail.
    failures integer not null default 0,
    -- Why the status is `degraded`.
    error text,
    revision bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    created_by uuid not null,
    updated_at timestamptz not null default clock_timestamp(),
    -- Set when it was deleted. It is not synchronized any more, and stays readable with its versions: locks refer to them.
    deleted_at timestamptz,
    primary key (organization_id, id)
);
create unique index step_registries_live_name on step_registries (organization_id, name) where deleted_at is null;
create index step_registries_due on step_registries (next_sync_at) where deleted_at is null and status <> 'disabled';

-- The content of steps, by its digest: the SHA-256 of `files`. In the database, because a worker that synchronizes has no object
-- store.
create table step_archives (
    organization_id uuid not null references organizations,
    digest text not null check (digest ~ '^sha256:[0-9a-f]{64}$'),
    -- Sorted lines of mode, path and SHA-256.
    files text not null check (octet_length(files) <= 262144),
    -- 8 MiB, and the headers of 256 files.
    archive bytea not null check (octet_length(archive) <= 9437184),
    bytes integer not null,
    primary key (organization_id, digest)
);

create table step_versions (
    organization_id uuid not null,
    registry_id uuid not null,
    name text not null,
    version text not null,
    -- Its order is that of the versions.
    version_key text collate "C" not null,
    digest text not null,
    -- The object that the tag referred to when it was first seen.
    tag_object text not null,
    description text,
    -- The text of its `step.yaml`.
    manifest text not null check (octet_length(manifest) <= 262144),
    bytes integer not null,
    -- The name of who has signed the tag, if the signature was checked.
    signer text,
    seen_at timestamptz not null default clock_timestamp(),
    yanked_at timestamptz,
    yanked_by uuid,
    yank_reason text,
    -- Not even definitions that have locked it may run it.
    refused boolean not null default false,
    primary key (organization_id, registry_id, name, version),
    foreign key (organization_id, registry_id) references step_registries,
    foreign key (organization_id, digest) references step_archives,
    check (num_nonnulls(yanked_at, yanked_by, yank_reason) in (0, 3)),
    check (yanked_at is not null or not refused)
);
create index step_versions_in_order on step_versions (organization_id, registry_id, name, version_key desc);
create index step_versions_of_digest on step_versions (organization_id, digest);

-- Tags that were refused, with the object that each referred to: such an object is reported once, and not read again.
create table step_refusals (
    organization_id uuid not null,
    registry_id uuid not null,
    tag text not null,
    object text not null,
    kind text not null check (kind in ('tag_moved', 'signature_refused', 'invalid')),
    reason text not null,
    seen_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, registry_id, tag),
    foreign key (organization_id, registry_id) references step_registries
);

-- What the references in a version of a definition meant when it was saved. Never changed.
create table step_locks (
    organization_id uuid not null,
    pipeline_id uuid not null,
    pipeline_version integer not null,
    -- As written: `acme/roll-out@v2`.
    reference text not null,
    registry_id uuid not null,
    name text not null,
    version text not null,
    digest text not null,
    primary key (organization_id, pipeline_id, pipeline_version, reference),
    foreign key (organization_id, pipeline_id, pipeline_version) references pipeline_versions,
    foreign key (organization_id, registry_id, name, version) references step_versions,
    foreign key (organization_id, digest) references step_archives
);
create index step_locks_of_step on step_locks (organization_id, registry_id, name, pipeline_id, pipeline_version);

-- The content of the step of a registry that ran. Its image is in `image_digest`.
alter table step_runs add column step_digest text;
