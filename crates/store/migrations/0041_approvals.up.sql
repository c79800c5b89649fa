-- Approvals of stages. Each is bound to the digest of what the stage would do.
create table approvals (
    organization_id uuid not null references organizations,
    id uuid not null,
    pipeline_id uuid not null,
    deployment_id uuid not null,
    stage_key text not null,
    -- The environment that the stage deploys to: a lasting one, or that of the session.
    environment text,
    status text not null default 'pending'
        check (status in ('pending', 'approved', 'rejected', 'expired', 'canceled', 'invalidated', 'superseded')),
    -- The rules and settings of the definition when the approval was opened.
    requirement jsonb not null,
    -- How many approvals are needed in all, how many are there, and how many people may approve.
    needed integer not null,
    have integer not null default 0,
    eligible integer not null,
    is_satisfiable boolean not null,
    subject jsonb not null,
    subject_digest text not null,
    -- When the deployment was accepted: approving a newer one supersedes older ones.
    accepted_at timestamptz not null,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    decided_at timestamptz,
    valid_until timestamptz,
    override_by uuid,
    override_by_name text,
    override_reason text,
    primary key (organization_id, id),
    foreign key (organization_id, deployment_id) references deployments,
    check ((status = 'pending') = (decided_at is null)),
    check ((status = 'approved') = (valid_until is not null)),
    check (num_nonnulls(override_by, override_by_name, override_reason) in (0, 3))
);
create unique index approvals_pending_of_stage on approvals (organization_id, deployment_id, stage_key)
    where status = 'pending';
create index approvals_pending on approvals (organization_id, id) where status = 'pending';
create index approvals_of_deployment on approvals (organization_id, deployment_id, id);
create index approvals_of_pipeline on approvals (organization_id, pipeline_id, id);

-- One vote per user, whichever token it was sent with.
create table approval_votes (
    organization_id uuid not null,
    approval_id uuid not null,
    user_id uuid not null,
    user_name text not null,
    choice text not null check (choice in ('approve', 'reject')),
    comment text,
    subject_digest text not null,
    -- The token or the browser session of the request.
    credential_id uuid not null,
    voted_at timestamptz not null,
    withdrawn_at timestamptz,
    primary key (organization_id, approval_id, user_id),
    foreign key (organization_id, approval_id) references approvals
);

-- Whom the rules of pending approvals name: `group:NAME`, `role:ROLE` and `user:ADDRESS-OR-ID`, in lower case. So those of a
-- user are found by a few ranges of this key.
create table approval_approvers (
    organization_id uuid not null,
    approver text not null,
    approval_id uuid not null,
    primary key (organization_id, approver, approval_id),
    foreign key (organization_id, approval_id) references approvals
);
create index approval_approvers_of_approval on approval_approvers (organization_id, approval_id);

alter table stages
    -- The approval that the stage waits for or begins with.
    add column approval_id uuid,
    -- An admin has let it begin although its environment is frozen. A retry resets that.
    add column ignores_freeze boolean not null default false,
    -- The last override of its gates: gates, reason, by whom, when. It stays.
    add column gate_overridden jsonb;

alter table deployments
    -- Everyone who has retried the deployment: they may not approve it.
    add column retriers uuid[] not null default '{}',
    -- The person for whom a service account says that it has started the deployment, who may not approve it either.
    add column on_behalf_of uuid,
    add column on_behalf_of_name text,
    add constraint deployments_on_behalf_of check (num_nonnulls(on_behalf_of, on_behalf_of_name) in (0, 2));
update deployments set retriers = array[retried_by] where retried_by is not null;
