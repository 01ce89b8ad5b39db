-- queue.move_group: moves the first visible messages of a FIFO group that go to the queue p_target_arn, at most
-- p_limit, into its group of the same name (move_group_messages).
-- Returns messages: 0 when another transaction has locked the target's group, or when the target was deleted a moment ago.
-- The caller holds the group's row. Locks: the target's group row, without waiting.
create or replace function queue.move_group(
    p_queue_id int, p_group_key bigint, p_group_id text, p_limit int, p_destination text, p_target_arn text)
returns int
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_ids bigint[];
begin
    v_ids := array(
        select head.id from (
            select m.id, bool_and(m.visible_at <= v_now and coalesce(p_destination,
                m.system ->> 'DeadLetterQueueSourceArn', '') = p_target_arn) over (order by m.id) as due
            from (select f.id, f.visible_at, f.system from queue.fifo_message f
                  where f.group_key = p_group_key and f.group_key > 0
                    and f.id >= (select h.first_id from queue.first_group_message(p_group_key) h)
                  order by f.id limit p_limit) m) head
        where head.due);
    return case when queue.move_group_messages(p_queue_id, p_group_key, p_group_id, v_ids, p_target_arn)
        then cardinality(v_ids) else 0 end;
end $$;
