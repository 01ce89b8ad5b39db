-- queue.read_account_minutes: returns how many messages entered and left all queues of an account in each minute from
-- p_from. A minute without a row had no events. Uses the index account_minute_pkey.
create or replace function queue.read_account_minutes(p_account_id text, p_region text, p_from timestamptz)
returns table (starts_at timestamptz, entered bigint, finished bigint, read_at timestamptz)
language sql stable as $$
select m.starts_at, m.entered, m.finished, clock_timestamp()
from queue.account_minute m
where m.account_id = p_account_id and m.region = p_region and m.starts_at >= p_from
order by m.starts_at
$$;
