-- What Greenroom's locks are measured against: a claim and a release in the fastest honest SQL, by pgbench, which says
-- how it is run in e2e/src/bench/locks/reference.rs. One statement per command, one round trip each, committed by itself,
-- prepared once. A transaction of pgbench is one pair: each client claims its own environment and lets it go.
--
-- FROZEN. This file and reference_schema.sql are not changed with the product: a ratio against SQL that follows ours would
-- flatter us whenever ours became slower. Whoever finds something faster that has the same effect says so in the commit
-- and measures all releases anew.
--
-- now() is the statement's beginning, before any wait for the row. A claim that had to wait compares an expiry with too
-- early a clock: it can refuse what it could have granted, never the other way round. The session of a lease that ran out
-- is ended by the sweeper. Ids are random with the time in front, so that an index grows at its end.

with granted as (
    update reference.environments
    set fence = fence + 1,
        sessions = sessions + 1,
        session_id = encode(overlay(uuid_send(gen_random_uuid())
            placing substring(int8send((extract(epoch from now()) * 1000)::bigint) from 3) from 1 for 6), 'hex')::uuid,
        holder_id = :user, holder_name = :user_name, holder_kind = 'user', context = 'bench',
        claimed_at = now(), expires_at = now() + interval '4 hours', max_expires_at = now() + interval '24 hours'
    where organization_id = :organization and pipeline_id = :pipeline and name = 'env-' || :client_id
      and (session_id is null or expires_at <= now()) and waiters = 0
    returning *
), session as (
    insert into reference.sessions (organization_id, id, environment_id, ordinal, active, status, user_id, user_name,
        user_kind, context, fence, claimed_at, expires_at, max_expires_at)
    select organization_id, session_id, id, sessions, true, 'active', holder_id, holder_name,
        holder_kind, context, fence, claimed_at, expires_at, max_expires_at
    from granted
), event as (
    insert into reference.events (organization_id, time, type, subject, actor_id, data)
    select organization_id, claimed_at, 'session.claimed', name, holder_id,
        jsonb_build_object('sessionId', session_id, 'envName', name, 'fence', fence, 'by', holder_name)
    from granted
), note as (
    insert into reference.outbox (organization_id, wake, session_id)
    select organization_id, 'claimed', session_id from granted
)
select session_id as session, fence, claimed_at, expires_at from granted \gset

with freed as (
    update reference.environments
    set fence = fence + 1, session_id = null, holder_id = null, holder_name = null, holder_kind = null, context = null,
        claimed_at = null, expires_at = null, max_expires_at = null
    where organization_id = :organization and pipeline_id = :pipeline and name = 'env-' || :client_id
      and session_id = :session
    returning organization_id, name, fence
), ended as (
    update reference.sessions s
    set active = false, status = 'released', ended_at = now(), ended_by = :user
    from freed
    where s.organization_id = freed.organization_id and s.id = :session
    returning s.organization_id, s.id, s.user_name, s.ended_at, freed.name, freed.fence
), event as (
    insert into reference.events (organization_id, time, type, subject, actor_id, data)
    select organization_id, ended_at, 'session.released', name, :user,
        jsonb_build_object('sessionId', id, 'envName', name, 'fence', fence, 'by', user_name)
    from ended
), note as (
    insert into reference.outbox (organization_id, wake, session_id)
    select organization_id, 'released', id from ended
)
select id as released, fence as freed_fence, ended_at from ended \gset
