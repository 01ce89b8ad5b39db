-- queue.update_group_visibility(group): sets when the group's first message may be received; 'infinity' when the group
-- is empty. The caller holds the group's row. Index: fifo_message_group. Called by: changes to one group's messages.
drop function if exists queue.settle_group(bigint);
create or replace function queue.update_group_visibility(p_group_key bigint) returns void
language plpgsql as $$
begin
    update queue.fifo_group g
    set visible_at = coalesce((select m.visible_at from queue.fifo_message m
                               where m.group_key = p_group_key order by m.id limit 1), 'infinity')
    where g.group_key = p_group_key;
end $$;
