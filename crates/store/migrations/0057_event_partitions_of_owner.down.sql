do $$
declare
    signature text;
begin
    foreach signature in array array['ensure_event_partitions(integer)', 'drop_event_partitions(interval)'] loop
        execute format('alter function %s security invoker reset search_path', signature);
        execute format('grant execute on function %s to public', signature);
    end loop;
end $$;

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
        if partition.month + interval '1 month' < clock_timestamp() - retention then
            execute format('drop table %I', partition.name);
            dropped := dropped + 1;
        end if;
    end loop;
    return dropped;
end $$;
