-- queue.read_hot_groups: returns the message groups with the most arrivals in the windows that begin in [p_from, p_to),
-- the busiest first.
--   `p_name` is the queue, and null means all queues.
--   `p_zone` is the zone of windows of days.
--   `arrivals_of_all` is the number of arrivals of all messages of the queues, with or without a group.
-- A window stores its 100 busiest groups, so a group can have had more arrivals than its row shows. Uses the index
-- metrics_window_pkey.
create or replace function queue.read_hot_groups(
    p_account_id text, p_region text, p_name text, p_window_seconds int, p_from timestamptz, p_to timestamptz,
    p_limit int, p_zone text default 'UTC')
returns table (name text, group_id text, arrivals bigint, arrivals_of_all bigint)
language sql stable as $$
with counted as materialized (
    select q.name, w.group_id, sum(w.arrivals)::bigint as arrivals
    from queue.queues q
    join queue.metrics_window w on w.queue_id = q.queue_id and w.window_seconds = p_window_seconds
        and w.starts_at >= p_from and w.starts_at < p_to
        and w.zone = case when p_window_seconds = 86400 then p_zone else '' end
    where q.account_id = p_account_id and q.region = p_region and (p_name is null or q.name = p_name)
    group by 1, 2)
select c.name, c.group_id, c.arrivals, (select sum(a.arrivals)::bigint from counted a where a.group_id = '')
from counted c where c.group_id <> '' and c.arrivals > 0
order by 3 desc, 1, 2
limit p_limit
$$;
