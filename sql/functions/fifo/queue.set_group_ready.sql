-- queue.set_group_ready(group, queue, visible_at, first id): stores when a group's first message may be received:
-- 'infinity' when the group is empty. A time in the past is stored as now: searches begin two seconds ago at the earliest
-- (take_groups), and ready groups get their turns one after the other. p_first_id: no message of the group has a lower id.
-- The caller holds the group's row in queue.fifo_group. Index: fifo_ready_pkey, the newest entry of the group.
-- Called by: lock_groups, update_group_visibility, take_groups, try_lock_group.
create or replace function queue.set_group_ready(
    p_group_key bigint, p_queue_id int, p_visible_at timestamptz, p_first_id bigint) returns void
language plpgsql as $$       -- plpgsql keeps the plans
begin
    delete from queue.fifo_ready r
    where r.ctid = (
        select f.ctid from queue.fifo_ready f where f.group_key = p_group_key order by f.version desc limit 1);
    insert into queue.fifo_ready (group_key, queue_id, visible_at, first_id)
    values (p_group_key, p_queue_id, greatest(p_visible_at, clock_timestamp()), coalesce(p_first_id, 0));
end $$;
