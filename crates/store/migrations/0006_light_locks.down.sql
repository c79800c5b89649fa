alter table sessions add column previous_session_id uuid;
update sessions s set previous_session_id = p.id from sessions p
where p.organization_id = s.organization_id and p.environment_id = s.environment_id and p.ordinal = s.ordinal - 1;
drop index sessions_waiting;
alter table sessions add column due_at timestamptz;
update sessions s set due_at = e.sweep_at from environments e
where e.organization_id = s.organization_id and e.id = s.environment_id and s.status in ('queued', 'active');
create index sessions_due on sessions (due_at) where status in ('queued', 'active');
create index sessions_waiting on sessions (organization_id, environment_id, ordinal) where status = 'queued';
alter table sessions drop constraint sessions_waiting_check;
alter table sessions drop column waiting;
alter table environments set (fillfactor = 60);
drop index environments_sweep;
alter table environments drop column sweep_at;
