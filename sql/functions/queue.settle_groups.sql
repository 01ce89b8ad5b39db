-- queue.settle_groups(groups): settle_group for several, in one statement; removes those that are empty, since the next
-- sender makes a group with fewer entries in indexes than it takes to change one twice.
-- The caller holds the groups' rows. Index: fifo_group_pkey, fifo_message_group.
-- Called by: send_fifo_messages, delete_fifo.
create or replace function queue.settle_groups(p_group_keys bigint[]) returns void
language plpgsql as $$
begin
    with head as materialized (
        select u.group_key, (select m.visible_at from queue.fifo_message m
                             where m.group_key = u.group_key order by m.id limit 1) as visible_at
        from unnest(p_group_keys) u(group_key)),
    emptied as (
        delete from queue.fifo_group g
        where g.group_key = any (array(select h.group_key from head h where h.visible_at is null)))
    update queue.fifo_group g set visible_at = h.visible_at
    from head h where g.group_key = h.group_key and h.visible_at is not null;
end $$;
