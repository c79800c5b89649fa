-- Events. A command inserts into event_intake in its own transaction. Positions are given out before the commit, so rows
-- become visible out of order, and nobody may read by them; the sequencer moves what it sees, numbered, into events. What
-- commits later gets a later number, so that no reader who goes by these numbers can miss it.
-- Of two changes to one record the second writes its row after it has waited for the first one's lock, so its position is
-- the higher one, and whoever sees it sees the first one's too: what happened in order is told in order.

-- A UUIDv7 of a given moment. PostgreSQL 18 has uuidv7(); 15 is the oldest that we run on.
create function uuid_v7(at timestamptz) returns uuid
    language sql volatile parallel safe
    return encode(
        set_bit(set_bit(
            overlay(uuid_send(gen_random_uuid())
                placing substring(int8send(floor(extract(epoch from at) * 1000)::bigint) from 3)
                from 1 for 6),
            52, 1), 53, 1),
        'hex')::uuid;

-- The moment of a UUIDv7, by which a look-up by id finds its partition.
create function uuid_v7_time(id uuid) returns timestamptz
    language sql immutable parallel safe
    return timestamptz 'epoch'
        + ('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint * interval '1 millisecond';

create table event_intake (
    position bigint generated always as identity primary key,
    organization_id uuid not null,
    time timestamptz not null default clock_timestamp(),
    type text not null,
    category text not null check (category in ('audit', 'deployment')),
    subject text not null,
    actor_id uuid,
    data jsonb not null
);
-- The table is nearly always empty and always churning: vacuum it by count, not by share.
alter table event_intake set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- One row. Who holds it is the sequencer; head is the number of the last event given out in all organizations.
create table event_feed (
    only_row boolean primary key default true check (only_row),
    head bigint not null
);
insert into event_feed (head) values (0);

-- The last sequence of each organization.
create table event_heads (
    organization_id uuid primary key references organizations,
    sequence bigint not null default 0
) with (fillfactor = 50);

create table events (
    organization_id uuid not null,
    sequence bigint not null,
    feed bigint not null,
    id uuid not null,
    time timestamptz not null,
    type text not null,
    category text not null,
    subject text not null,
    actor_id uuid,
    data jsonb not null,
    -- A unique key of a partitioned table must contain the time; that a sequence is given once is the head row's doing.
    primary key (organization_id, sequence, time)
) partition by range (time);
create index events_feed on events (feed);
create index events_id on events (id);
create index events_category on events (organization_id, category, sequence);
create index events_type on events (organization_id, type, sequence);
create index events_subject on events (organization_id, subject, sequence);
create index events_actor on events (organization_id, actor_id, sequence);

-- Catches what no month was made for; it should stay empty.
create table events_default partition of events default;

-- Makes the partitions of this month and of `ahead` more. Attaching, unlike creating in place, does not stop readers and
-- writers of the parent.
create function ensure_event_partitions(ahead integer) returns integer
    language plpgsql as $$
declare
    month timestamptz := date_trunc('month', clock_timestamp(), 'UTC');
    partition text;
    made integer := 0;
begin
    -- Two daemons that start together must not make the same month.
    perform pg_advisory_xact_lock(hashtextextended('ensure_event_partitions', 0));
    for step in 0..ahead loop
        partition := 'events_' || to_char(month at time zone 'UTC', 'YYYY_MM');
        if to_regclass(partition) is null then
            execute format('create table %I (like events including all)', partition);
            execute format('alter table events attach partition %I for values from (%L) to (%L)',
                partition, month, month + interval '1 month');
            made := made + 1;
        end if;
        month := month + interval '1 month';
    end loop;
    return made;
end $$;

-- Drops the months that ended before the retention's start.
create function drop_event_partitions(retention interval) returns integer
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

select ensure_event_partitions(3);
