-- queue.store_gauges: counts the messages of queues and stores the counts in queue.measurement. Also writes the current
-- minute's row if that row exists or the counts have changed. The caller has locked a worker's row, so only one process
-- at a time stores a queue's counts. Costs as much as count_messages for each queue.
create or replace function queue.store_gauges(p_ids int[]) returns void
language sql as $$
with ended as (
    delete from queue.outcome_count o where o.queue_id = any (p_ids) returning o.queue_id, o.dead_lettered, o.expired),
counted as materialized (
    select q.queue_id, clock_timestamp() as measured_at, c.visible, c.in_flight, c.delayed, c.oldest, c.first_sent,
        (coalesce(m.visible, 0), coalesce(m.in_flight, 0), coalesce(m.delayed, 0))
            is distinct from (c.visible, c.in_flight, c.delayed) as changed,
        coalesce((select cardinality(n.noisy) from queue.noisy_neighbors n
                  where n.queue_id = q.queue_id and n.judged_at > clock_timestamp() - interval '1 minute'), 0)
            as noisy_groups
    from queue.queues q
    cross join lateral queue.count_messages(q.queue_id, q.fifo, q.shards) c
    left join queue.measurement m on m.queue_id = q.queue_id
    where q.queue_id = any (p_ids)),
minute as (
    insert into queue.minute as m (queue_id, starts_at, visible, in_flight, delayed, oldest_at, last_received_at)
    select c.queue_id, date_trunc('minute', c.measured_at, 'UTC'), c.visible, c.in_flight, c.delayed, c.oldest,
        (select p.last_received_at from queue.minute p
         where p.queue_id = c.queue_id and p.starts_at <= c.measured_at order by p.starts_at desc limit 1)
    from counted c
    where c.changed or exists (
        select from queue.minute p
        where p.queue_id = c.queue_id and p.starts_at = date_trunc('minute', c.measured_at, 'UTC'))
    on conflict (queue_id, starts_at) do update
    set visible = excluded.visible, in_flight = excluded.in_flight, delayed = excluded.delayed,
        oldest_at = excluded.oldest_at)
insert into queue.measurement as m
    (queue_id, measured_at, visible, in_flight, delayed, oldest_at, noisy_groups, dead_lettered, expired, first_sent_at)
select c.queue_id, c.measured_at, c.visible, c.in_flight, c.delayed, c.oldest, c.noisy_groups,
    coalesce(e.dead_lettered, 0), coalesce(e.expired, 0), c.first_sent
from counted c
left join (
    select d.queue_id, sum(d.dead_lettered) as dead_lettered, sum(d.expired) as expired
    from ended d group by d.queue_id) e on e.queue_id = c.queue_id
on conflict (queue_id) do update
set measured_at = excluded.measured_at, visible = excluded.visible, in_flight = excluded.in_flight,
    delayed = excluded.delayed, oldest_at = excluded.oldest_at, noisy_groups = excluded.noisy_groups,
    dead_lettered = m.dead_lettered + excluded.dead_lettered, expired = m.expired + excluded.expired,
    first_sent_at = excluded.first_sent_at
$$;
