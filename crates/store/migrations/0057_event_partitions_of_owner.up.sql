-- The daemon can run under a role that owns no table and may only add events (crates/store/grants/daemon.sql). So partitions
-- are created and dropped with the rights of their owner, and only that role and the ones it names can request it. A month
-- that ended less than 30 days ago is never dropped, whatever the caller states.
create or replace function drop_event_partitions(retention interval) returns integer
    language plpgsql as $$
declare
    partition record;
    dropped integer := 0;
begin
    for partition in
        select c.relname as name, to_date(substr(c.relname, 8), 'YYYY_MM')::timestamp at time zone 'UTC' as month
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'events'::regclass and c.relname ~ '^events_\d{4}_\d{2}$'
    loop
        if partition.month + interval '1 month' < clock_timestamp() - greatest(retention, interval '30 days') then
            execute format('drop table %I', partition.name);
            dropped := dropped + 1;
        end if;
    end loop;
    return dropped;
end $$;

-- A fixed search path: the caller's could put another table in front of `events`.
do $$
declare
    signature text;
begin
    foreach signature in array array['ensure_event_partitions(integer)', 'drop_event_partitions(interval)'] loop
        execute format('alter function %s security definer set search_path = %I, pg_temp', signature, current_schema());
        execute format('revoke execute on function %s from public', signature);
    end loop;
end $$;
