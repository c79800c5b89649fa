comment on column idempotency_keys.user_id is null;

alter table environments
    drop column owner_token_id,
    drop column holder_token_name,
    drop column handover_token_name;

alter table sessions
    drop column owner_token_id,
    drop column token_name;

-- The version before this one does not know service accounts: they end, and their rows stay for the history.
update api_tokens t set revoked_at = clock_timestamp()
from memberships m
where m.organization_id = t.organization_id and m.user_id = t.user_id and m.kind = 'service' and t.revoked_at is null;

alter table api_tokens
    drop column owner_token_id,
    drop column max_sessions;

drop index service_accounts_name;
drop index service_accounts_organization;
alter table memberships
    drop constraint memberships_kind,
    drop constraint memberships_email,
    drop constraint memberships_service;
alter table users drop constraint users_email;

update memberships set email = 'usr_' || user_id || '@service.invalid', removed_at = coalesce(removed_at, clock_timestamp())
where kind = 'service';
update users set email = 'usr_' || id || '@service.invalid' where kind = 'service';

alter table memberships
    drop column kind,
    drop column description,
    drop column created_by,
    alter column email set not null;
alter table users
    drop constraint users_of_a_kind,
    drop column kind,
    alter column email set not null,
    alter column email_key set not null;
