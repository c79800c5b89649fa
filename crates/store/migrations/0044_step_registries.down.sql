alter table step_runs drop column step_digest;
drop table step_locks;
drop table step_refusals;
drop table step_versions;
drop table step_archives;
drop table step_registries;
