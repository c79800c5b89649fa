-- Since when an environment is free: the end of its last session. Part of the lock, and like the rest of it not indexed. Null while it is
-- held, and before its first session. A version before this one does not write it: then it is older than `used_at`, and not shown.
alter table environments add column free_since timestamptz;
update environments e set free_since =
    (select s.ended_at from sessions s
     where s.organization_id = e.organization_id and s.environment_id = e.id and s.claimed_at is not null
     order by s.ordinal desc limit 1)
where e.session_id is null;
