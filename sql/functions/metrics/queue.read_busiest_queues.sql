-- queue.read_busiest_queues: returns the queues with the most arrivals in the windows that begin in [p_from, p_to), the
-- busiest first. Queues with equal arrivals are in the order of their depth, the greatest depth first. `p_zone` is the
-- zone of windows of days. Uses the index metrics_window_pkey.
create or replace function queue.read_busiest_queues(
    p_account_id text, p_region text, p_window_seconds int, p_from timestamptz, p_to timestamptz, p_limit int,
    p_zone text default 'UTC')
returns table (name text, arrivals bigint, greatest_depth bigint)
language sql stable as $$
select q.name, sum(w.arrivals)::bigint, max(w.depth)
from queue.queues q
join queue.metrics_window w on w.queue_id = q.queue_id and w.window_seconds = p_window_seconds and w.group_id = ''
    and w.starts_at >= p_from and w.starts_at < p_to
    and w.zone = case when p_window_seconds = 86400 then p_zone else '' end
where q.account_id = p_account_id and q.region = p_region
group by 1
order by 2 desc, 3 desc, 1
limit p_limit
$$;
