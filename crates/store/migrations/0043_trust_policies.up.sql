-- Trust policies: which tokens of CI systems are exchanged for a token of a service account.

create table trust_policies (
    organization_id uuid not null references organizations,
    id uuid not null,
    service_account_id uuid not null,
    name text not null,
    -- As in `iss` of the tokens.
    issuer text not null,
    -- Null: the public address of the server.
    audience text,
    -- The claims with the value that each must have.
    claims jsonb not null check (jsonb_typeof(claims) = 'object' and claims <> '{}'),
    -- The pipelines that the exchanged tokens reach.
    pipelines uuid[] not null check (cardinality(pipelines) between 1 and 100),
    ttl_seconds integer not null check (ttl_seconds between 60 and 3600),
    created_at timestamptz not null default clock_timestamp(),
    created_by uuid not null,
    deleted_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, service_account_id) references memberships
);
create unique index trust_policies_name on trust_policies (organization_id, service_account_id, lower(name))
    where deleted_at is null;

-- Tokens of issuers that were exchanged, until they have expired: each can be exchanged once, also if several organizations
-- trust its issuer.
create table exchanged_tokens (
    organization_id uuid not null references organizations,
    issuer text not null,
    -- A hash of the token's id (`jti`), or of what was signed.
    replay_id bytea not null check (octet_length(replay_id) = 32),
    keep_until timestamptz not null,
    primary key (organization_id, issuer, replay_id),
    unique (issuer, replay_id)
);
create index exchanged_tokens_keep_until on exchanged_tokens (keep_until);

alter table api_tokens
    -- Of a token that was made by an exchange: the policy that accepted it.
    add column trust_policy_id uuid,
    add constraint api_tokens_trust_policy foreign key (organization_id, trust_policy_id) references trust_policies;
create index api_tokens_of_trust_policy on api_tokens (organization_id, trust_policy_id)
    where trust_policy_id is not null and revoked_at is null;
