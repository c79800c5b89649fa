drop index deployments_to_expire;
alter table deployments drop column expired_at;
