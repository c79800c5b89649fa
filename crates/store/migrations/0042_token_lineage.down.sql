comment on column sessions.owner_token_id is null;
comment on column environments.owner_token_id is null;
comment on column idempotency_keys.user_id is 'The user, or the token that the sessions of a service account''s token belong to.';

alter table api_tokens add column owner_token_id uuid;
update api_tokens set owner_token_id = lineage[1] where lineage is not null;

-- Live sessions belong to the first token of the chain again.
update sessions s set owner_token_id = t.lineage[1]
from api_tokens t
where t.organization_id = s.organization_id and t.id = s.owner_token_id and (s.waiting or s.status = 'active');
update environments e set owner_token_id = t.lineage[1]
from api_tokens t
where t.organization_id = e.organization_id and t.id = e.owner_token_id;

alter table api_tokens drop column lineage;
