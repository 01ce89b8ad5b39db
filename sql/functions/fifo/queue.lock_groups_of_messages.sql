-- queue.lock_groups_of_messages: locks the groups of FIFO messages until the end of the transaction. Locks the groups
-- in the order of their keys. Functions that change messages of several groups call this function first, so that
-- concurrent calls do not deadlock.
create or replace function queue.lock_groups_of_messages(p_ids bigint[]) returns void
language plpgsql as $$
begin
    perform from queue.fifo_group g
    -- Each id needs a separate look-up, because for `id = any (…)` the planner can choose a scan of all messages.
    where g.group_key = any (array(
        select (select m.group_key from queue.fifo_message m where m.id = u.id)
        from unnest(p_ids) u(id)))
    order by g.group_key for update;
end $$;
