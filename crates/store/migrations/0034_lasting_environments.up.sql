-- Lasting environments: one row for each that a version of a pipeline's definition names.
create table lasting_environments (
    organization_id uuid not null references organizations (id),
    pipeline_id uuid not null,
    name text not null,
    -- The deployment that works there, or is about to.
    slot_deployment_id uuid,
    slot_has_begun boolean not null default false,
    -- Grows by one with each deployment that gets the slot.
    fence bigint not null default 0,
    live_deployment_id uuid,
    live_at timestamptz,
    -- The latest time at which a deployment was accepted that was live here.
    newest_accepted_at timestamptz,
    held_by uuid,
    held_by_name text,
    held_reason text,
    held_since timestamptz,
    held_until timestamptz,
    primary key (organization_id, pipeline_id, name),
    foreign key (organization_id, pipeline_id) references pipelines (organization_id, id),
    check ((held_by is null) = (held_until is null) and (held_by is null) = (held_reason is null)
        and (held_by is null) = (held_since is null) and (held_by is null) = (held_by_name is null)),
    check ((live_deployment_id is null) = (live_at is null))
);

-- Each deployment that has begun to work in a lasting environment.
create table environment_deployments (
    organization_id uuid not null references organizations (id),
    pipeline_id uuid not null,
    name text not null,
    fence bigint not null,
    deployment_id uuid not null,
    started_by uuid not null,
    rollback boolean not null,
    began_at timestamptz not null,
    ended_at timestamptz,
    outcome text check (outcome in ('succeeded', 'failed', 'errored', 'canceled')),
    primary key (organization_id, pipeline_id, name, fence),
    foreign key (organization_id, pipeline_id, name) references lasting_environments (organization_id, pipeline_id, name),
    check ((ended_at is null) = (outcome is null))
);
create index environment_deployments_deployment on environment_deployments (organization_id, deployment_id);

alter table deployments
    add column allow_older boolean not null default false,
    add column accepted_at timestamptz;
update deployments set accepted_at = created_at;
alter table deployments alter column accepted_at set not null, alter column accepted_at set default clock_timestamp();

alter table stages
    add column environment text,
    add column blocker jsonb;
create index stages_waiting_in_environment on stages (organization_id, environment) where status = 'waiting';

update stages s set environment = named.environment
from (
    select v.organization_id, v.pipeline_id, v.version, stage ->> 'key' as key, stage ->> 'environment' as environment
    from pipeline_versions v cross join jsonb_array_elements(v.definition -> 'stages') stage
    where stage ->> 'environment' is not null
) named
join deployments d on d.organization_id = named.organization_id and d.pipeline_id = named.pipeline_id
    and d.definition_version = named.version and d.purpose = 'pipeline'
where s.organization_id = d.organization_id and s.deployment_id = d.id and s.key = named.key;

insert into lasting_environments (organization_id, pipeline_id, name)
select distinct v.organization_id, v.pipeline_id, environment ->> 'name'
from pipeline_versions v cross join jsonb_array_elements(v.definition -> 'environments') environment;

-- The newest deployment all of whose stages in the environment succeeded is live there.
update lasting_environments e
set live_deployment_id = live.id, live_at = live.at, newest_accepted_at = live.accepted_at
from (
    select distinct on (d.organization_id, d.pipeline_id, s.environment)
        d.organization_id, d.pipeline_id, s.environment, d.id, d.accepted_at, max(s.ended_at) as at
    from stages s join deployments d on d.organization_id = s.organization_id and d.id = s.deployment_id
    where s.environment is not null
    group by d.organization_id, d.pipeline_id, s.environment, d.id, d.accepted_at
    having bool_and(s.status in ('succeeded', 'skipped')) and bool_or(s.status = 'succeeded')
    order by d.organization_id, d.pipeline_id, s.environment, max(s.ended_at) desc
) live
where e.organization_id = live.organization_id and e.pipeline_id = live.pipeline_id and e.name = live.environment;

-- With the reasons `outdated` and `gate_closed`.
create or replace function is_deployment_reason(reason text) returns boolean
    language plpgsql immutable strict parallel safe as $$
begin
    return reason = any ('{step_failed, timed_out, runner_lost, no_runner, runner_error, commit_not_found, commit_not_on_branch,
        repository_unavailable, checkout_host_not_allowed, image_not_found, pool_restricted, secret_missing, secret_denied, unsupported,
        invalid_definition, condition_limit, canceled_by_user, session_ended, pipeline_stopped, abandoned, given_up, condition_false, only_ephemeral,
        upstream_failed, upstream_skipped, deployment_canceled, outdated, gate_closed, newer_deployment, "a newer deployment"}');
end $$;
