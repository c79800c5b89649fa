-- The branch that a job's checkout has proven its commit to be on. Caches read only this, never what a caller has named.
alter table jobs add column proven_branch text;
-- Its steps start only after the proof: a runner that does not know of it must not run them.
alter table jobs add column must_prove boolean not null default false;

-- What the first deployment of a session that was claimed with a commit is named to be on.
alter table sessions add column branch text;

-- Deployments whose branch is protected share caches with each other only. Caches that exist were written by anybody.
alter table caches add column zone text not null default 'open' check (zone in ('protected', 'open'));
alter table caches drop constraint caches_pkey;
alter table caches add primary key (organization_id, pipeline_id, zone, key);
