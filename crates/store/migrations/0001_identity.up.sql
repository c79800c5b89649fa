-- Organizations, people and tokens. Every table of a tenant has organization_id first in its key.

create table organizations (
    id uuid primary key,
    slug text not null unique check (slug ~ '^[a-z][a-z0-9-]{0,62}$'),
    name text not null,
    revision bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp()
);

-- What a list's `total` says without counting.
create table organization_totals (
    organization_id uuid primary key references organizations,
    pipelines bigint not null default 0 check (pipelines >= 0)
);

-- A person is one user in all organizations; how they are called is each membership's own.
create table users (
    id uuid primary key,
    email text not null,
    -- Addresses are kept as they were written and told apart without case.
    email_key text not null generated always as (lower(email)) stored unique,
    created_at timestamptz not null default clock_timestamp()
);

-- A removed member's row stays: history keeps telling the name.
create table memberships (
    organization_id uuid not null references organizations,
    user_id uuid not null references users,
    -- As this organization writes it: another's spelling would tell that the person is known there.
    email text not null,
    name text not null,
    role text not null check (role in ('viewer', 'developer', 'maintainer', 'admin', 'owner')),
    revision bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    removed_at timestamptz,
    primary key (organization_id, user_id)
);
create index memberships_of_user on memberships (user_id);

create table api_tokens (
    organization_id uuid not null references organizations,
    id uuid not null,
    user_id uuid not null,
    name text not null,
    kind text not null check (kind in ('user', 'ci', 'agent')),
    allow_force boolean not null,
    secret_hash bytea not null unique check (octet_length(secret_hash) = 32),
    hint text not null,
    -- The token that made this one; revoking it revokes this one too.
    parent_id uuid,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references memberships,
    foreign key (organization_id, parent_id) references api_tokens
);
-- Streams and last-use records look tokens up by id alone, for all organizations at once.
create index api_tokens_id on api_tokens (id);
create index api_tokens_of_user on api_tokens (organization_id, user_id);
create index api_tokens_of_parent on api_tokens (organization_id, parent_id) where parent_id is not null;

-- Answers of commands that carried an Idempotency-Key, written in the command's own transaction.
create table idempotency_keys (
    organization_id uuid not null references organizations,
    user_id uuid not null,
    method text not null,
    path text not null,
    key text not null,
    fingerprint bytea not null,
    status smallint not null check (status between 200 and 299),
    body text not null,
    etag text,
    created_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, user_id, method, path, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
