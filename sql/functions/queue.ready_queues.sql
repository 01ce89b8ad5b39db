-- queue.ready_queues(arns): which of these queues have something to hand out now, or do not exist (any more).
-- Index: side_visible_at, deferred_pkey, fifo_group_visible_at and those of busy_shards. Called by: the long-poll hub, each second.
create or replace function queue.ready_queues(p_arns text[]) returns table (arn text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue record;
    v_now timestamptz := clock_timestamp();
begin
    for v_queue in
        select u.arn, q.queue_id, q.fifo, q.shards
        from unnest(p_arns) u(arn) left join queue.queues q on q.arn = u.arn
    loop
        if v_queue.queue_id is null
            or (v_queue.fifo and exists (
                select from queue.fifo_group g
                where queue.time_key(g.queue_id, -2) = queue.time_key(v_queue.queue_id, -2)
                    and g.visible_at <= v_now))
            or (not v_queue.fifo and (
                exists (select from queue.side s
                        where queue.time_key(s.queue_id, -1) = queue.time_key(v_queue.queue_id, -1)
                            and s.visible_at <= v_now)
                or exists (select from queue.deferred d where d.queue_id = v_queue.queue_id)
                or exists (select from queue.busy_shards(v_queue.queue_id, v_queue.shards, v_now))))
        then
            arn := v_queue.arn;
            return next;
        end if;
    end loop;
end $$;
