-- What a restore can lose or mix up. Each damage begins with the start of the invariant that it breaks, as `greenroomd admin verify`
-- prints it. They are planted with triggers off, as in a restore, by the test of that command, one after the other in one
-- database, and by `cargo xtask drill restore`, each in a copy of its own.

-- breaks: events are numbered
delete from events where sequence = 2;

-- breaks: the last event has
update event_heads set sequence = sequence + 7;

-- breaks: every row fulfills
delete from users where id in (select user_id from memberships limit 1);

-- breaks: every row fulfills
alter table organization_totals drop constraint organization_totals_pipelines_check;
alter table organization_totals add constraint fewer check (pipelines < 0) not valid;

-- breaks: a held environment
update environments set session_id = gen_random_uuid()
where id = (select id from environments where session_id is not null order by id limit 1);

-- breaks: an active session
update environments set session_id = null, expires_at = null
where id = (select id from environments where session_id is not null order by id limit 1);

-- breaks: a fence is given
update sessions set fence = 900 where status = 'active';

-- breaks: the history of
delete from sessions where status = 'released';

-- breaks: the history of
update environments set waiters = waiters + 3 where id = (select id from environments order by name desc limit 1);

-- breaks: every version of
delete from pipeline_versions;

-- breaks: a deployment has
delete from stages;

-- breaks: a log has
update log_segments set start = start + 1;

-- breaks: a secret has
delete from secret_versions where secret_id = (select id from secrets order by name desc limit 1);

-- breaks: an organization has
update memberships set role = 'viewer';

-- breaks: pipelines are
alter table organization_totals drop constraint if exists fewer;
alter table organization_totals drop constraint if exists organization_totals_pipelines_check;
update organization_totals set pipelines = 40;

-- breaks: each object that
update artifacts set object = object || '-lost';
update log_segments set object = object || '-lost' where object is not null;

-- breaks: everything that is sealed
update secret_versions v set sealed = w.sealed from secret_versions w
where v.secret_id = (select id from secrets order by name limit 1)
  and w.secret_id = (select id from secrets order by name offset 1 limit 1);

-- breaks: everything that is sealed
update organization_keys set wrapped = wrapped || decode('00', 'hex');
