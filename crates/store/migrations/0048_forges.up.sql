-- Connected forges: where pull requests are opened and commits are looked up. A name is unique in its organization, and addresses the
-- forge in the API.
create table forges (
    organization_id uuid not null references organizations,
    id uuid not null,
    name text not null,
    kind text not null check (kind in ('github', 'forgejo')),
    -- Of its API. The credential is sent there only.
    address text not null,
    -- `host`, `host/owner` or `host/owner/name`, in small letters.
    repositories text[] not null check (cardinality(repositories) between 1 and 50),
    -- Sealed with a data key of the organization. It opens for this forge and this `address` only.
    credential_key_id uuid not null,
    credential_nonce bytea not null,
    credential_sealed bytea not null,
    -- The last call, and why it failed.
    last_used_at timestamptz,
    last_error text check (octet_length(last_error) <= 2048),
    revision bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    created_by uuid not null,
    updated_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, id),
    constraint forges_name unique (organization_id, name),
    foreign key (organization_id, credential_key_id) references organization_keys
);
create index forges_of_key on forges (organization_id, credential_key_id);
