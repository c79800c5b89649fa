-- Which jobs a pool takes: only those of these pipelines, and of these only those that deploy to these environments. Null: any.
-- An environment's name means something only within a pipeline.
alter table runner_pools
    add column pipelines uuid[] check (cardinality(pipelines) > 0),
    add column environments text[] check (cardinality(environments) > 0),
    add constraint runner_pools_environments_of_pipelines check (environments is null or pipelines is not null);

-- What a step's image stood for when its job was made ready: `sha256:…`.
alter table step_runs add column image_digest text;
