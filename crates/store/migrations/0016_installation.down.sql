drop table engine_waits;
drop index deployments_live_by_id;
alter table wakes drop column attempts;
drop table installation;
