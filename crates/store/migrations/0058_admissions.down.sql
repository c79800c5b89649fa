alter table approvals drop column authors;

alter table deployments drop column oldest_version;

alter table users
    drop column enrolled_by,
    drop column enrolled_at;

alter table memberships
    drop column added_by,
    drop column restored_at,
    drop column role_given_by,
    drop column role_given_at;
