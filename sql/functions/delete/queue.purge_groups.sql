-- queue.purge_groups: deletes the messages of a FIFO queue and records them in the history. Returns the number of
-- messages.
--   `p_sent_before` is null if the function deletes all messages as purged. Otherwise, the function deletes messages
--     that were sent before this time, as expired.
--   `p_limit` is the maximum number of groups, and null means all groups.
-- Compares only a group's first message, which is the oldest. Locks the groups' rows in the order of their keys. Skips
-- locked groups if p_sent_before is not null, because a sender can lock a group for long.
create or replace function queue.purge_groups(
    p_queue_id int, p_sent_before timestamptz default null, p_limit int default null)
returns bigint
language plpgsql as $$
declare
    v_group record;
    v_all bigint := 0;
begin
    for v_group in
        select g.group_key, g.group_id from queue.fifo_group g
        where g.queue_id = p_queue_id and coalesce(p_sent_before, 'infinity') > (
            select m.sent_at from queue.first_group_message(g.group_key) m)
        order by g.group_key limit p_limit
    loop
        if p_sent_before is null then
            perform from queue.fifo_group g where g.group_key = v_group.group_key for update;
        else
            perform from queue.fifo_group g where g.group_key = v_group.group_key for update skip locked;
        end if;
        continue when not found;
        v_all := v_all + queue.purge_group(p_queue_id, v_group.group_key, p_sent_before);
    end loop;
    return v_all;
end $$;
