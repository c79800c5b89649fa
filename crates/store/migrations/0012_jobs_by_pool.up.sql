-- With the organization in front, this index seems to serve whoever asks for one running job by its id, as long as few
-- run; but it holds all that ran since the last vacuum. A pool is one organization's, so nothing needs it in front.
drop index jobs_live;
create index jobs_live on jobs (pool_id, status) where status in ('queued', 'running');
