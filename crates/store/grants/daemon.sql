-- The rights of `greenroom_daemon`, the role of `greenroomd serve`, `worker` and `admin`, if `greenroomd migrate` runs under
-- another role, which owns all tables (docs/operations.md). The daemon can add events and read them. It can't change any,
-- it can delete those only that have no number yet, and it can't change the schema.
--
-- Run it as the owner after each `greenroomd migrate up`, before the daemons are restarted:
--     psql --set ON_ERROR_STOP=1 --file crates/store/grants/daemon.sql "$OWNER_DATABASE_URL"
begin;

grant usage on schema public to greenroom_daemon;
grant select, insert, update, delete on all tables in schema public to greenroom_daemon;
grant usage, select on all sequences in schema public to greenroom_daemon;
grant execute on function ensure_event_partitions(integer), drop_event_partitions(interval) to greenroom_daemon;

revoke insert, update, delete on _sqlx_migrations from greenroom_daemon;
-- Events that have no number yet are moved, and never changed.
revoke update on event_intake from greenroom_daemon;
revoke update, delete on events from greenroom_daemon;
-- Reads and writes of `events` need no rights on its partitions.
do $$
declare
    partition regclass;
begin
    for partition in select inhrelid::regclass from pg_inherits where inhparent = 'events'::regclass loop
        execute format('revoke all on %s from greenroom_daemon', partition);
    end loop;
end $$;

commit;
