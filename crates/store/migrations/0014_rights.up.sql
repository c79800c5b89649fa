-- Scopes of API tokens, and the pipelines that a token is limited to (null: all of them).
alter table api_tokens add column scopes text[];
alter table api_tokens add column pipelines uuid[] check (cardinality(pipelines) between 1 and 100);

-- The scopes of a token that was made without naming any.
create function default_token_scopes(kind text) returns text[]
    language sql immutable parallel safe
    return case kind
        when 'user' then array['read', 'hold', 'deploy', 'start', 'write', 'admin']
        when 'ci' then array['read', 'hold', 'deploy', 'start']
        else array['read', 'hold', 'deploy']
    end;

-- Tokens of programs have had all rights of their user and mostly no end. One event per organization and 500 tokens lists
-- those that still work and lose rights here.
with narrowed as (
    update api_tokens t
    set scopes = default_token_scopes(t.kind),
        expires_at = case when t.kind = 'user' then t.expires_at
                          else coalesce(t.expires_at, clock_timestamp() + interval '366 days') end
    from api_tokens before
    where before.organization_id = t.organization_id and before.id = t.id
    returning t.organization_id, t.id, t.user_id, t.name, t.kind, t.scopes, t.expires_at, t.revoked_at,
              before.expires_at is null and t.expires_at is not null as expiry_assigned
),
listed as (
    select n.*, (row_number() over (partition by n.organization_id order by n.id) - 1) / 500 as block
    from narrowed n
    join memberships m on m.organization_id = n.organization_id and m.user_id = n.user_id and m.removed_at is null
    where n.kind <> 'user' and n.revoked_at is null and n.expires_at > clock_timestamp()
)
insert into event_intake (organization_id, type, category, subject, data)
select l.organization_id, 'token.scopes_assigned', 'audit', 'api-tokens',
       jsonb_build_object(
           'actor', jsonb_build_object('id', null, 'name', 'migration', 'kind', 'system', 'tokenId', null),
           'context', jsonb_build_object(), 'before', null,
           'after', jsonb_build_object('tokens', jsonb_agg(jsonb_build_object(
               'tokenId', 'tok_' || l.id, 'userId', 'usr_' || l.user_id, 'name', l.name, 'kind', l.kind,
               'scopes', to_jsonb(l.scopes), 'expiresAt', to_jsonb(l.expires_at), 'expiryAssigned', l.expiry_assigned)
               order by l.id)),
           'reason', 'Tokens have scopes now. Tokens of kind ci and agent got the default scopes of their kind, and an '
               || 'expiry in 366 days if they had none.')
from listed l
group by l.organization_id, l.block
order by l.organization_id, l.block;

alter table api_tokens alter column scopes set not null;
alter table api_tokens add constraint api_tokens_scopes check (
    cardinality(scopes) > 0 and scopes <@ array['read', 'hold', 'deploy', 'start', 'write', 'admin']
    and (kind = 'user' or not 'admin' = any(scopes))
);

-- The version before this one, which may still serve, makes tokens without scopes: they get the defaults.
create function assign_token_scopes() returns trigger
    language plpgsql as $$
begin
    new.scopes := default_token_scopes(new.kind);
    if new.kind <> 'user' then
        new.expires_at := coalesce(new.expires_at, clock_timestamp() + interval '90 days');
    end if;
    return new;
end $$;
create trigger api_tokens_default_scopes before insert on api_tokens
    for each row when (new.scopes is null) execute function assign_token_scopes();

-- Members and pipelines whose sessions were ended because the member may not hold sessions any more, or the pipeline was
-- archived. A grant that ran at the same moment may not have seen that: for a while after it, such sessions are looked for.
create table session_endings (
    organization_id uuid not null references organizations,
    id uuid not null default gen_random_uuid(),
    user_id uuid,
    pipeline_id uuid,
    reason text not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, id),
    check (num_nonnulls(user_id, pipeline_id) = 1),
    foreign key (organization_id, user_id) references memberships,
    foreign key (organization_id, pipeline_id) references pipelines
);
