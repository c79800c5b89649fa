-- Who gave people what the rules of approvals require, and when: a vote does not count if a person behind the deployment
-- did. Null: the operator, or it happened before these columns existed.
alter table memberships
    add column added_by uuid,
    -- When a person who had been removed was added again.
    add column restored_at timestamptz,
    add column role_given_by uuid,
    add column role_given_at timestamptz;

-- Whose sign-in link the person was enrolled with (`enrolled_in`).
alter table users
    add column enrolled_by uuid references users,
    add column enrolled_at timestamptz;

alter table deployments
    -- The version that the deployment had before it was retried with a newer one. A stage may have succeeded with it.
    add column oldest_version integer;

alter table approvals
    -- Who saved the versions of the definition that were new when the approval was opened. The list of approvals that wait
    -- for a person leaves out their own.
    add column authors uuid[] not null default '{}';
