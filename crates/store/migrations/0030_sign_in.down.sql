comment on column environments.handover_token_id is null;
comment on column sessions.token_id is null;
drop table identities;
drop table sign_in_links;
drop table passwords;
drop view live_browser_sessions;
drop table browser_sessions;
alter table users
    drop column enrolled_in,
    drop column signed_in_at;
