-- queue.queues_with_leftover_rows: returns the queues of a list that have rows for maintain_queue to clean. Leftover
-- rows are messages in any state, groups, archived messages and a count of messages in flight. A check by this function
-- costs a tenth of a call of maintain_queue. Uses the indexes lease_pkey, log_pkey, side_visible_at,
-- fifo_group_queue_id_group_id_key, archive_queue and deferred_pkey.
create or replace function queue.queues_with_leftover_rows(p_queue_ids int[]) returns table (queue_id int)
language plpgsql as $$       -- PL/pgSQL keeps the plan, and planning costs twice as much as the query.
#variable_conflict use_column
begin
return query
select q.queue_id
from unnest(p_queue_ids) with ordinality u(queue_id, n)
join queue.queues q on q.queue_id = u.queue_id
where q.counts_in_flight
    or exists (select from queue.archive a where a.queue_id = q.queue_id)
    or case when q.fifo then exists (select from queue.fifo_group g where g.queue_id = q.queue_id)
        else exists (select from queue.side s where queue.side_key(s.queue_id) = queue.side_key(q.queue_id))
            or exists (select from queue.deferred d where d.queue_id = q.queue_id)
            or exists (
                select from generate_series(0, q.shards - 1) s(shard)
                cross join lateral (
                    select c.pos, c.low from queue.lease c
                    where c.queue_id = q.queue_id and c.shard = s.shard
                    order by c.pos desc limit 1) cursor
                where cursor.pos <> cursor.low or exists (
                    select from queue.log l
                    where l.queue_id = q.queue_id and l.shard = s.shard and l.id > cursor.pos)) end
order by u.n;
end $$;
