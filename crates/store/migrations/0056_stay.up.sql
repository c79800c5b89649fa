-- How long a waiting session keeps its place after a heartbeat, in seconds: 120 for programs, and for people what the
-- environment's definition had as `queue.maxStay` when the session joined.
alter table sessions add column stay_seconds bigint not null default 120;
alter table environments add column max_stay_seconds bigint not null default 14400;
