-- A version without zones gives every cache to every deployment, so the protected ones go: others may have been read only by
-- protected deployments. Their objects are discarded as those of any removed cache are.
with gone as (delete from caches where zone = 'protected' returning organization_id, object)
insert into discarded_objects (organization_id, name, due_at)
select organization_id, object, clock_timestamp() + interval '1 day' from gone
on conflict (organization_id, name) do nothing;
alter table caches drop constraint caches_pkey;
alter table caches drop column zone;
alter table caches add primary key (organization_id, pipeline_id, key);
alter table sessions drop column branch;
alter table jobs drop column must_prove;
alter table jobs drop column proven_branch;
