alter table step_runs drop column image_digest;
alter table runner_pools drop column environments, drop column pipelines;
