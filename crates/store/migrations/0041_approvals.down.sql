alter table deployments drop column retriers, drop column on_behalf_of, drop column on_behalf_of_name;
alter table stages drop column approval_id, drop column ignores_freeze, drop column gate_overridden;
drop table approval_approvers;
drop table approval_votes;
drop table approvals;
