-- For `greenroomd admin verify`: rows that break a foreign key or a check. PostgreSQL does not look at them again after a
-- restore, or after rows were changed with triggers switched off.
create function constraint_violations() returns table (table_name text, constraint_name text, violations bigint)
language plpgsql stable as $$
declare
    item record;
    joined text;
    present text;
begin
    for item in
        select c.conrelid, c.conname, c.contype, c.confrelid, c.conkey, c.confkey,
               pg_get_expr(c.conbin, c.conrelid) as condition
        from pg_constraint c
        join pg_class r on r.oid = c.conrelid
        where c.connamespace = current_schema()::regnamespace and c.contype in ('c', 'f')
            and c.conparentid = 0 and not r.relispartition
    loop
        if item.contype = 'c' then
            execute format('select count(*) from %s where not (%s)', item.conrelid::regclass, item.condition) into violations;
        else
            select string_agg(format('t.%I = f.%I', b.attname, a.attname), ' and '),
                   string_agg(format('f.%I is not null', a.attname), ' and ')
            into joined, present
            from unnest(item.conkey, item.confkey) as k (own, other)
            join pg_attribute a on a.attrelid = item.conrelid and a.attnum = k.own
            join pg_attribute b on b.attrelid = item.confrelid and b.attnum = k.other;
            execute format('select count(*) from %s f where %s and not exists (select 1 from %s t where %s)',
                item.conrelid::regclass, present, item.confrelid::regclass, joined) into violations;
        end if;
        if violations > 0 then
            table_name := item.conrelid::regclass::text;
            constraint_name := item.conname;
            return next;
        end if;
    end loop;
end
$$;
