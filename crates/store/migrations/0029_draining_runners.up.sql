-- The runner has reported that it takes no more jobs and shuts down when its own have ended.
alter table runners add column draining boolean not null default false;
