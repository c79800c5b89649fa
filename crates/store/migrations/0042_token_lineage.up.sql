-- A session of a service account belongs to the token that claimed it, and no longer to the first token of the chain.

alter table api_tokens
    -- Of a service account's token: the tokens from which it descends, the first one first, and itself. Sessions of all of
    -- them are its own. Null for tokens of persons.
    add column lineage uuid[] check (cardinality(lineage) between 1 and 256 and lineage[cardinality(lineage)] = id);

with recursive chains as (
    select t.organization_id, t.id, array[t.id] as lineage
    from api_tokens t
    where t.owner_token_id = t.id
    union all
    select t.organization_id, t.id, c.lineage || t.id
    from chains c
    join api_tokens t on t.organization_id = c.organization_id and t.parent_id = c.id
    where cardinality(c.lineage) < 256
)
update api_tokens t set lineage = c.lineage
from chains c
where t.organization_id = c.organization_id and t.id = c.id;

-- No release has had this column.
alter table api_tokens drop column owner_token_id;

comment on column sessions.owner_token_id is 'Of a service account''s session: the token that claimed it.';
comment on column environments.owner_token_id is 'Of a service account that holds the lock: the token that claimed it.';
comment on column idempotency_keys.user_id is 'The user, or the token of a service account.';
