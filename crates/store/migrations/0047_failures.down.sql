drop index deployments_of_commit;
drop table failure_notes;
drop table evidence;
drop table failures;
drop table good_stages;
alter table step_runs drop column script_digest;
