alter table runner_pools drop column revision;
