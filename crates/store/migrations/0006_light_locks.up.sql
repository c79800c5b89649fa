-- A claim and a release should touch as little as they can. A session's end used to change columns that indexes look at
-- (status, in their conditions), so that each end wrote into every index of the table. Now it changes none: it stays within
-- its page, as the environment's row does.

-- When the sweeper should look at an environment: it may look too early, never too late. A claim leaves it alone if it is
-- early enough already, and a release always does, so that this one indexed column of the lock rarely changes.
alter table environments add column sweep_at timestamptz;
update environments e set sweep_at =
    (select min(s.due_at) from sessions s
     where s.organization_id = e.organization_id and s.environment_id = e.id and s.status in ('queued', 'active'));
create index environments_sweep on environments (sweep_at) where sweep_at is not null;
-- Two or three to a page: those who claim different environments should not meet on one.
alter table environments set (fillfactor = 20);

-- True of those who wait, and never of those who did not have to.
alter table sessions add column waiting boolean not null default false;
update sessions set waiting = true where status = 'queued';
alter table sessions add constraint sessions_waiting_check check (waiting = (status = 'queued'));
drop index sessions_due;
drop index sessions_waiting;
alter table sessions drop column due_at;
create index sessions_waiting on sessions (organization_id, environment_id, ordinal) where waiting;
-- It is the one with the ordinal before.
alter table sessions drop column previous_session_id;
