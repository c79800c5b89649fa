-- Groups of members.
create table groups (
    organization_id uuid not null references organizations (id),
    id uuid not null,
    -- Definitions refer to a group by its name.
    name text not null,
    description text,
    revision bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    created_by uuid not null,
    updated_at timestamptz not null default clock_timestamp(),
    -- Set when it was deleted. It has no members and no grants any more, and stays readable.
    deleted_at timestamptz,
    primary key (organization_id, id)
);
create unique index groups_live_name on groups (organization_id, name) where deleted_at is null;

-- A row is deleted together with the membership in the organization.
create table group_members (
    organization_id uuid not null references organizations (id),
    group_id uuid not null,
    user_id uuid not null,
    added_at timestamptz not null default clock_timestamp(),
    added_by uuid not null,
    primary key (organization_id, group_id, user_id),
    foreign key (organization_id, group_id) references groups (organization_id, id),
    foreign key (organization_id, user_id) references memberships (organization_id, user_id)
);
create index group_members_of_user on group_members (organization_id, user_id);

-- Grants raise the role of a group or of a user on one pipeline.
create table grants (
    organization_id uuid not null references organizations (id),
    pipeline_id uuid not null,
    group_id uuid,
    user_id uuid,
    grantee_id uuid not null generated always as (coalesce(group_id, user_id)) stored,
    role text not null check (role in ('developer', 'maintainer')),
    created_at timestamptz not null default clock_timestamp(),
    created_by uuid not null,
    updated_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, pipeline_id, grantee_id),
    foreign key (organization_id, pipeline_id) references pipelines (organization_id, id),
    foreign key (organization_id, group_id) references groups (organization_id, id),
    foreign key (organization_id, user_id) references memberships (organization_id, user_id),
    check (num_nonnulls(group_id, user_id) = 1)
);
create index grants_of_group on grants (organization_id, group_id, pipeline_id) where group_id is not null;
create index grants_of_user on grants (organization_id, user_id, pipeline_id) where user_id is not null;

-- The grants of each user, their own and those of their groups.
create view user_grants as
    select g.organization_id, g.pipeline_id, g.user_id, g.role from grants g where g.user_id is not null
    union all
    select g.organization_id, g.pipeline_id, m.user_id, g.role
    from grants g
    join group_members m on m.organization_id = g.organization_id and m.group_id = g.group_id;

-- Pipelines on which users have lost grants. Their sessions there were ended; a concurrent claim may not have seen that, so
-- for a while sessions without a right are looked for again. In a table of its own: an older daemon would end all
-- sessions of a pipeline in `session_endings`.
create table grant_endings (
    organization_id uuid not null references organizations (id),
    id uuid not null default gen_random_uuid(),
    pipeline_id uuid not null,
    reason text not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, id),
    foreign key (organization_id, pipeline_id) references pipelines (organization_id, id)
);

-- With the reason `deploy_denied`.
create or replace function is_deployment_reason(reason text) returns boolean
    language plpgsql immutable strict parallel safe as $$
begin
    return reason = any ('{step_failed, timed_out, runner_lost, no_runner, runner_error, commit_not_found, commit_not_on_branch,
        repository_unavailable, checkout_host_not_allowed, image_not_found, pool_restricted, secret_missing, secret_denied, deploy_denied,
        unsupported, invalid_definition, condition_limit, canceled_by_user, session_ended, pipeline_stopped, abandoned, given_up,
        condition_false, only_ephemeral, upstream_failed, upstream_skipped, deployment_canceled, outdated, gate_closed,
        approval_rejected, approval_expired, approval_lapsed, newer_deployment, "a newer deployment"}');
end $$;
