-- queue.send_moved: sends the messages that a move task removed from a standard queue. The messages have new ids and
-- times, the target queue's delay, and no attribute PenstockError. Does not check the messages' size. Raises QU001 if
-- another transaction has deleted a target. The caller then undoes the step, and the next step reports the missing
-- target. Takes the locks of send_messages.
create or replace function queue.send_moved(p_targets text[], p_messages queue.received_row[]) returns void
language plpgsql as $$
begin
    if cardinality(p_targets) <> (
        select count(*) from queue.send_messages(
            p_queues => p_targets,
            p_message_ids => array(select gen_random_uuid() from unnest(p_targets)),
            p_bodies => array(select m.body from unnest(p_messages) with ordinality m order by m.ordinality),
            p_sizes => array_fill(0, array[cardinality(p_targets)]),
            p_attributes => array(
                select queue.without_error(m.attributes::jsonb) from unnest(p_messages) with ordinality m
                order by m.ordinality),
            p_system => array(
                select queue.move_system(m.system::jsonb) from unnest(p_messages) with ordinality m
                order by m.ordinality)) s
        where s.error is null)
    then
        raise exception 'the queue to which the messages move was deleted' using errcode = 'QU001';
    end if;
end $$;
