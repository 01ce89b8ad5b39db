-- queue.purge_groups(queue, before): deletes the messages of a FIFO queue as purged and records them in the history.
-- With p_before it deletes only those that were sent before then, as expired. The first message of a group is its
-- oldest. Returns the number of messages.
-- Locks: the groups' rows in the order of their keys. With p_before it skips locked ones, because a sender may hold them
-- for long.
create or replace function queue.purge_groups(p_queue_id int, p_before timestamptz default null) returns bigint
language plpgsql as $$
declare
    v_group record;
    v_messages bigint;
    v_all bigint := 0;
begin
    for v_group in
        select g.group_key, g.group_id from queue.fifo_group g
        where g.queue_id = p_queue_id and coalesce(p_before, 'infinity') > (
            select m.sent_at from queue.first_group_message(g.group_key) m)
        order by g.group_key
    loop
        if p_before is null then
            perform from queue.fifo_group g where g.group_key = v_group.group_key for update;
        else
            perform from queue.fifo_group g where g.group_key = v_group.group_key for update skip locked;
        end if;
        continue when not found;
        with gone as (
            delete from queue.fifo_message m
            where m.group_key = v_group.group_key and m.group_key > 0 and m.sent_at < coalesce(p_before, 'infinity')
            returning m.*),
        recorded as (
            insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by,
                group_id, sent_at, finished_at)
            select p_queue_id, case when p_before is null then 'purged' else 'expired' end, g.receive_count,
                g.first_received_at, g.redelivered_at, queue.entered_by(g.system), v_group.group_id, array_agg(g.sent_at),
                array_agg(clock_timestamp())
            from gone g
            where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id)
            group by g.receive_count, g.first_received_at, g.redelivered_at, queue.entered_by(g.system))
        select count(*) into v_messages from gone;
        perform queue.update_groups(array[v_group.group_key]);
        v_all := v_all + v_messages;
    end loop;
    return v_all;
end $$;
