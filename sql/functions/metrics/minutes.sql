-- The minutes of a queue and of an account.

-- queue.read_minutes: returns the events of queues in the minutes that start in [p_from, p_to), by ARN and time. `n` is
-- the ARN's position in p_arns, from 1. A minute without a row had no events. Reads at most 200 queues, and the last
-- 1,500 minutes of each queue.
create or replace function queue.read_minutes(p_arns text[], p_from timestamptz, p_to timestamptz)
returns table (n int, starts_at timestamptz, sent bigint, received bigint, redelivered bigint, deleted bigint,
    dead_lettered bigint, expired bigint, visible bigint, in_flight bigint, delayed bigint, oldest_at timestamptz,
    last_received_at timestamptz)
language sql stable as $$
select u.n::int, m.starts_at, m.sent, m.received, m.redelivered, m.deleted, m.dead_lettered, m.expired, m.visible,
    m.in_flight, m.delayed, m.oldest_at, m.last_received_at
from unnest(p_arns[1:200]) with ordinality u(arn, n)
join queue.queues q on q.arn = u.arn
cross join lateral (
    select * from queue.minute x
    where x.queue_id = q.queue_id and x.starts_at >= p_from and x.starts_at < p_to
    order by x.starts_at desc limit 1500) m
order by u.n, m.starts_at
$$;

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
