-- queue.update_or_remove_groups(groups): update_group_visibility for several groups. It removes empty groups: a sender
-- that makes the group again changes fewer index entries than two updates of its row.
-- The caller holds the groups' rows. Index: fifo_group_pkey, fifo_message_group.
-- Called by: send_fifo_messages, delete_fifo.
drop function if exists queue.settle_groups(bigint[]);
create or replace function queue.update_or_remove_groups(p_group_keys bigint[]) returns void
language plpgsql as $$
declare
    v_removed int;
begin
    delete from queue.fifo_group g
    where g.group_key = any (array(     -- one lookup a group: a join may read all messages
        select u.group_key from unnest(p_group_keys) u(group_key)
        where (select m.visible_at from queue.fifo_message m
               where m.group_key = u.group_key order by m.id limit 1) is null));
    get diagnostics v_removed = row_count;
    if v_removed < cardinality(p_group_keys) then
        update queue.fifo_group g
        set visible_at = (select m.visible_at from queue.fifo_message m
                          where m.group_key = g.group_key order by m.id limit 1)
        where g.group_key = any (p_group_keys);
    end if;
end $$;
