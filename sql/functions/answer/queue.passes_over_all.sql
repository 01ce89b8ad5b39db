-- queue.passes_over_all(arn, bytes, format): after a receive that found nothing, whether the queue has messages that can be
-- received now, and all of them are too long for such an answer. False also where another transaction may have others:
-- those of a shard that it reads, or of a message group that it has locked, can be received again when it is undone.
-- Index: side_visible_at; as ready_shards; fifo_ready_visible_at, as group_head. take_groups notes first (queue.passed_over)
-- whether a FIFO queue has any that it passed over, since dead entries of the index make this search long.
create or replace function queue.passes_over_all(p_arn text, p_answer_bytes int, p_answer_format text) returns boolean
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_queue record;
    v_all boolean;
begin
    select q.queue_id, q.fifo, q.shards into v_queue from queue.queues q where q.arn = p_arn;
    if v_queue.fifo then
        select bool_and(not h.fits) into v_all
        from queue.fifo_ready r
        cross join lateral queue.group_head(r.group_key, r.first_id, p_answer_bytes, p_answer_format) h
        where current_setting('queue.passed_over', true) = 'on'
            and queue.time_key(r.queue_id, -2) = queue.time_key(v_queue.queue_id, -2) and r.visible_at <= v_now
            and h.visible_at <= v_now;
    else
        select bool_and((s.answer_bytes ->> p_answer_format)::int > p_answer_bytes is true) into v_all
        from queue.side s
        where queue.time_key(s.queue_id, -1) = queue.time_key(v_queue.queue_id, -1) and s.visible_at <= v_now;
        v_all := v_all and not exists (select from queue.ready_shards(v_queue.queue_id, v_queue.shards, v_now))
            and not exists (select from queue.deferred d where d.queue_id = v_queue.queue_id);
    end if;
    return coalesce(v_all, false);
end $$;
