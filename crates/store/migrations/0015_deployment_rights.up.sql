-- Who canceled and retried what; clean-ups that failed, and when they are repeated; what is live in an environment; until
-- when a job's lease is renewed at most.

-- Null if the system did it, or nobody has. A retry clears who canceled it before: the deployment goes on.
alter table deployments
    add column canceled_by uuid,
    add column canceled_by_name text,
    add column canceled_by_kind text,
    add column retried_by uuid,
    add column retried_by_name text,
    add column retried_by_kind text;
alter table stages
    add column canceled_by uuid,
    add column canceled_by_name text,
    add column canceled_by_kind text,
    add column retried_by uuid,
    add column retried_by_name text,
    add column retried_by_kind text;

alter table environments
    -- The newest teardown that did not succeed, unless one has since or a maintainer gave it up.
    add column cleanup_failed_deployment_id uuid,
    add column cleanup_failed_at timestamptz,
    add column cleanup_failed_reason text,
    -- How often the sweeper has repeated it, and when it does so next.
    add column cleanup_tries integer not null default 0,
    add column cleanup_retry_at timestamptz,
    -- The last deployment of a session that succeeded here, unless a teardown has succeeded since.
    add column deployed_deployment_id uuid,
    add column deployed_commit_id text,
    add column deployed_at timestamptz;
-- Partial, and changed by clean-ups only: a claim and a release leave it alone.
create index environments_cleanup on environments (cleanup_retry_at) where cleanup_retry_at is not null;

update environments e
set deployed_deployment_id = d.id, deployed_commit_id = d.commit_id, deployed_at = d.ended_at
from deployments d
where d.organization_id = e.organization_id and d.purpose = 'session'
  and d.id = (select last.id from deployments last
              where last.organization_id = e.organization_id and last.environment_id = e.id
                and last.status = 'succeeded' and last.purpose in ('session', 'teardown')
              order by last.id desc limit 1);

-- A heartbeat renews the lease up to this moment and not beyond it. Null: given out by an older version.
alter table jobs add column lease_limit timestamptz;
update jobs j set lease_limit = j.started_at + (s.timeout_seconds + 60) * interval '1 second'
from stages s
where j.status = 'running' and s.organization_id = j.organization_id and s.deployment_id = j.deployment_id
  and s.key = j.stage_key;
