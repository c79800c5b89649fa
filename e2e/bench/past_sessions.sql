-- Past sessions with the numbers `$1` to `$2`, of `$3` in all, one every three seconds until now, in the order in which
-- they would have come. All parts of one past are made in one transaction: they count from the same now(). Every hundredth
-- is of env-0, the others go round among the rest of the `$4` environments; so each environment's ordinals are dense.
-- Ids have the form of version 7, with the moment in front.
with past as (
    select number, 'env-' || case when number % 100 = 0 then 0 else 1 + turn % others end as name,
        case when number % 100 = 0 then number / 100 else turn / others end as earlier,
        case when number % 50 = 7 then 'expired' when number % 200 = 11 then 'overridden' else 'released' end as status,
        now() - ($3::bigint - number) * interval '3 seconds' as moment,
        now_ms - ($3::bigint - number) * 3000 as moment_ms
    from (select (extract(epoch from now()) * 1000)::bigint as now_ms, $4::bigint - 1 as others offset 0) present,
        generate_series($1::bigint, $2::bigint) number,
        lateral (select number - number / 100 - 1 as turn) place
)
insert into sessions (organization_id, id, environment_id, ordinal, status, user_id, user_name, user_kind, context,
    commit_id, lease_seconds, longest_seconds, fence, claimed_at, expires_at, max_expires_at, ended_at, ended_by,
    ended_by_name)
select e.organization_id,
    (lpad(to_hex(moment_ms), 12, '0') || '70008000' || lpad(to_hex(number), 12, '0'))::uuid,
    e.id, earlier + 1, status, m.user_id, m.name, 'ci',
    'Pull request ' || number % 5000, md5(number::text) || '01234567', 14400, 86400, earlier * 2 + 1, moment,
    moment + interval '4 hours', moment + interval '24 hours', moment + interval '4 minutes',
    m.user_id, m.name
from past
join environments e using (name)
join memberships m using (organization_id)
order by number
