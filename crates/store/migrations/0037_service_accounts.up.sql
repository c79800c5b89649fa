-- Service accounts: users of kind `service`. They belong to one organization, have no e-mail address, and can't sign in.

alter table users
    add column kind text not null default 'person' check (kind in ('person', 'service')),
    alter column email drop not null,
    alter column email_key drop not null,
    add constraint users_of_a_kind unique (id, kind),
    add constraint users_email check ((kind = 'service') = (email is null));

alter table memberships
    -- Copied from the user, so that a list reads one table.
    add column kind text not null default 'person' check (kind in ('person', 'service')),
    alter column email drop not null,
    -- Of a service account: what it is for, and who made it.
    add column description text,
    add column created_by uuid,
    add constraint memberships_kind foreign key (user_id, kind) references users (id, kind),
    add constraint memberships_email check ((kind = 'service') = (email is null)),
    add constraint memberships_service check (
        case kind when 'service' then role <> 'owner' and created_by is not null
                  else description is null and created_by is null end
    );
create unique index service_accounts_name on memberships (organization_id, lower(name))
    where kind = 'service' and removed_at is null;
create unique index service_accounts_organization on memberships (user_id) where kind = 'service';

alter table api_tokens
    -- Of a service account's token: the token that an admin made, from which this one descends (itself, if it has no
    -- parent). Sessions belong to it. Null for tokens of persons.
    add column owner_token_id uuid,
    -- How many sessions this token and those made by it may hold at a time. A token that was made by a limited one is
    -- limited too. Null: any number.
    add column max_sessions integer check (max_sessions between 1 and 1000);

-- Of a service account's session: the token that it belongs to, and the name of the token that it was claimed with.
alter table sessions
    add column owner_token_id uuid,
    add column token_name text;

-- The same of the holder, and of the requester of a hand-over.
alter table environments
    add column owner_token_id uuid,
    add column holder_token_name text,
    add column handover_token_name text;

comment on column idempotency_keys.user_id is 'The user, or the token that the sessions of a service account''s token belong to.';
