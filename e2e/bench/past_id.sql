-- The id of the past session of that number, version 7 of its moment: known beforehand, so that the one after it can name
-- it.
create function past_id(at timestamptz, number bigint) returns uuid
    language sql stable parallel safe
    return (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
        || '7' || substr(md5(number::text), 1, 3) || '8' || substr(md5(number::text), 4, 15))::uuid
