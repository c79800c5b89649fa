-- The deployments that a user has started, newest first.
create index deployments_of_user on deployments (organization_id, created_by, id);
