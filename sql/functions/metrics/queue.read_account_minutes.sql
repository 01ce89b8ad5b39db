-- queue.read_account_minutes: returns how many messages entered and left all queues of an account in each minute from
-- p_from. A minute without a row had no events if it began after `known_from`, when the account's oldest queue was
-- created. Uses the index account_minute_pkey.
create or replace function queue.read_account_minutes(p_account_id text, p_region text, p_from timestamptz)
returns table (starts_at timestamptz, entered bigint, finished bigint, read_at timestamptz, known_from timestamptz)
language sql stable as $$
select m.starts_at, m.entered, m.finished, clock_timestamp(), k.known_from
from queue.account_minute m
cross join (
    select min(q.created_at) as known_from from queue.queues q
    where q.account_id = p_account_id and q.region = p_region) k
where m.account_id = p_account_id and m.region = p_region and m.starts_at >= p_from
order by m.starts_at
$$;
