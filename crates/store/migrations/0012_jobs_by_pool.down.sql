drop index jobs_live;
create index jobs_live on jobs (organization_id, pool_id, status) where status in ('queued', 'running');
