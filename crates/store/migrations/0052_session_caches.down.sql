-- A version without this zone knows one open cache under a key: the one of sessions goes if there is another. Its object is
-- discarded as those of any removed cache are.
with gone as (
    delete from caches c where zone = 'session' and exists (
        select 1 from caches o where o.organization_id = c.organization_id and o.pipeline_id = c.pipeline_id
            and o.key = c.key and o.zone = 'open')
    returning organization_id, object
)
insert into discarded_objects (organization_id, name, due_at)
select organization_id, object, clock_timestamp() + interval '1 day' from gone
on conflict (organization_id, name) do nothing;
update caches set zone = 'open' where zone = 'session';
alter table caches drop constraint caches_zone_check;
alter table caches add constraint caches_zone_check check (zone in ('protected', 'open'));
