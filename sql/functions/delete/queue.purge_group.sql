-- queue.purge_group: does the work of purge_groups for one group. The caller has locked the group's row.
create or replace function queue.purge_group(p_queue_id int, p_group_key bigint, p_sent_before timestamptz)
returns bigint
language plpgsql as $$
declare
    v_group_id text := (select g.group_id from queue.fifo_group g where g.group_key = p_group_key);
    v_first bigint := (select h.id from queue.first_group_message(p_group_key) h);
    v_messages bigint;
    v_now timestamptz := clock_timestamp();
begin
    with gone as (
        delete from queue.fifo_message m
        where m.group_key = p_group_key and m.group_key > 0 and m.id >= v_first and m.id < coalesce((
            select k.id from queue.fifo_message k
            where k.group_key = p_group_key and k.group_key > 0 and k.id >= v_first and k.sent_at >= p_sent_before
            order by k.id limit 1), 9223372036854775807)
        returning m.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by,
            group_id, sent_at, finished_at)
        select p_queue_id, e.outcome, g.receive_count,
            g.first_received_at, g.redelivered_at, queue.entered_by(g.system), v_group_id, array_agg(g.sent_at),
            array_agg(e.finished_at)
        from gone g
        cross join lateral queue.ending(p_queue_id, case when p_sent_before is null then 'purged' else 'expired' end,
            g.sent_at, null, g.first_received_at, v_now) e
        where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id)
        group by e.outcome, g.receive_count, g.first_received_at, g.redelivered_at, queue.entered_by(g.system))
    select count(*) into v_messages from gone;
    if p_sent_before is not null then
        perform queue.count_expired(p_queue_id, v_messages);
    end if;
    perform queue.update_groups(array[p_group_key]);
    return v_messages;
end $$;
