-- A pool can be changed, so that who changes it can say what they have seen.
alter table runner_pools add column revision bigint not null default 1;
