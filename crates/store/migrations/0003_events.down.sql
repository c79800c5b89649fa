drop function drop_event_partitions(interval);
drop function ensure_event_partitions(integer);
drop table events;
drop table event_heads;
drop table event_feed;
drop table event_intake;
drop function uuid_v7_time(uuid);
drop function uuid_v7(timestamptz);
