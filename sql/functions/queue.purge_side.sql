-- queue.purge_side(queue, before): deletes the messages of the slow lane (sent before then, as expired) and records
-- them. Returns messages. Locks: the messages' rows. Called by: purge_messages, expire_queue.
create or replace function queue.purge_side(p_queue_id int, p_before timestamptz default null) returns bigint
language plpgsql as $$
declare
    v_messages bigint;
begin
    with gone as (
        delete from queue.side s
        where s.queue_id = p_queue_id and s.sent_at < coalesce(p_before, 'infinity') returning s.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, sent_at, finished_at)
        select p_queue_id, case when p_before is null then 'purged' else 'expired' end, g.receive_count,
            g.first_received_at, array_agg(g.sent_at), array_agg(clock_timestamp())
        from gone g group by g.receive_count, g.first_received_at)
    select count(*) into v_messages from gone;
    return v_messages;
end $$;
