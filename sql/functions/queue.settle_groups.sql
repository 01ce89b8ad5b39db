-- queue.settle_groups(groups): settle_group for several, in one statement.
-- The caller holds the groups' rows. Index: fifo_group_pkey, fifo_message_group.
-- Called by: send_fifo_messages, delete_fifo.
create or replace function queue.settle_groups(p_group_keys bigint[]) returns void
language plpgsql as $$
begin
    update queue.fifo_group g
    set visible_at = coalesce((select m.visible_at from queue.fifo_message m
                               where m.group_key = g.group_key order by m.id limit 1), 'infinity')
    where g.group_key = any (p_group_keys);
end $$;
