-- The trace that a deployment belongs to, if its request was traced: a `traceparent` of W3C Trace Context, which relay, worker and
-- runner continue. Apart from `deployments`, so that a deployment without a trace costs nothing.
create table deployment_traces (
    organization_id uuid not null,
    deployment_id uuid not null,
    traceparent text not null check (traceparent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'),
    primary key (organization_id, deployment_id),
    foreign key (organization_id, deployment_id) references deployments on delete cascade
);
