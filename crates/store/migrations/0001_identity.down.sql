drop table idempotency_keys;
drop table api_tokens;
drop table memberships;
drop table users;
drop table organization_totals;
drop table organizations;
