-- A retry has changed `definition_version`: what has not begun is planned again.
alter table deployments add column replan boolean not null default false;
