-- As many environments as `$1`, the first of them there already: the others are like it.
insert into environments (organization_id, pipeline_id, id, name, labels, url, configuration, default_lease_seconds,
    longest_lease_seconds, force_role, listed)
select organization_id, pipeline_id, gen_random_uuid(), 'env-' || number, labels, url, configuration, default_lease_seconds,
    longest_lease_seconds, force_role, listed
from environments, generate_series(1, $1::integer - 1) number
where name = 'env-0'
