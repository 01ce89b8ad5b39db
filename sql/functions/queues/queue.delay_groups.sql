-- queue.delay_groups(queue, delay): applies a changed DelaySeconds of a FIFO queue to the messages that are in it and
-- were never received (Developer Guide, "Delay queues": on FIFO queues the setting is retroactive).
-- Locks: the rows of the groups in which it changes messages, in the order of their keys; it waits for them. Index:
-- fifo_group_queue_id_group_id_key, fifo_message_of_group.
create or replace function queue.delay_groups(p_queue_id int, p_delay_seconds int) returns void
language plpgsql as $$
declare
    v_group bigint;
    v_delay interval := p_delay_seconds * interval '1 second';
    v_now timestamptz := clock_timestamp();
begin
    for v_group in
        select g.group_key from queue.fifo_group g
        where g.queue_id = p_queue_id and exists (
            select from queue.fifo_message m
            where m.group_key = g.group_key and m.group_key > 0 and m.receive_count = 0
                and (m.visible_at > v_now or m.sent_at + v_delay > v_now))
        order by g.group_key
    loop
        perform from queue.fifo_group g where g.group_key = v_group for update;
        update queue.fifo_message m set visible_at = m.sent_at + v_delay
        where m.group_key = v_group and m.group_key > 0 and m.receive_count = 0
            and (m.visible_at > v_now or m.sent_at + v_delay > v_now);
        perform queue.update_groups(array[v_group]);
    end loop;
end $$;
