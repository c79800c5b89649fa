-- Signing in with a browser: sessions, passwords, sign-in links and identities at providers. They belong to a person, who may
-- be a member of several organizations, so none of these tables belongs to an organization.

alter table users
    -- When the person signed in for the first time. Null: never.
    add column signed_in_at timestamptz,
    -- The organization whose admin made the link that the person was enrolled with: the person's browser sessions reach
    -- this organization only. Null: they reach every organization of the person.
    add column enrolled_in uuid references organizations;

create table browser_sessions (
    id uuid primary key,
    user_id uuid not null references users,
    secret_hash bytea not null unique check (octet_length(secret_hash) = 32),
    method text not null check (method in ('password', 'link', 'oidc')),
    -- As the browser describes itself, so that its user recognizes it.
    user_agent text not null,
    created_at timestamptz not null default clock_timestamp(),
    last_used_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null default clock_timestamp() + interval '14 days',
    ended_at timestamptz
);
create index browser_sessions_of_user on browser_sessions (user_id) where ended_at is null;
create index browser_sessions_expiry on browser_sessions (expires_at);

-- The only place that decides whether a browser session is valid.
create view live_browser_sessions as
    select id, user_id, secret_hash, method, user_agent, created_at, last_used_at, expires_at
    from browser_sessions
    where ended_at is null and expires_at > clock_timestamp()
      and last_used_at > clock_timestamp() - interval '12 hours';

-- Argon2id, with the parameters that each hash was computed with, so that they can be raised later.
create table passwords (
    user_id uuid primary key references users,
    hash bytea not null check (octet_length(hash) = 32),
    salt bytea not null check (octet_length(salt) = 16),
    memory_kib integer not null,
    iterations integer not null,
    changed_at timestamptz not null default clock_timestamp()
);

-- One per person: a new link voids the old one. A link that was used is deleted.
create table sign_in_links (
    user_id uuid primary key references users,
    secret_hash bytea not null unique check (octet_length(secret_hash) = 32),
    -- The organization of the admin who made it, and the admin. Null: the operator.
    enrolls_in uuid references organizations,
    made_by uuid references users,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null default clock_timestamp() + interval '15 minutes',
    check ((enrolls_in is null) = (made_by is null))
);

-- A person at an OpenID provider. After the first sign-in only issuer and subject count, not the e-mail address.
create table identities (
    issuer text not null,
    subject text not null,
    user_id uuid not null references users,
    created_at timestamptz not null default clock_timestamp(),
    primary key (issuer, subject)
);
create index identities_of_user on identities (user_id);

comment on column sessions.token_id is 'The token or the browser session that the session was claimed or queued with.';
comment on column environments.handover_token_id is 'The token or the browser session that the hand-over was requested with.';
