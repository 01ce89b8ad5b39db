-- queue.lock_groups(queue, groups): locks the rows of message groups to the end of the transaction; makes missing ones.
-- Existing groups in the order of their keys, then new ones in the order of their names: no two senders deadlock.
-- Called by: send_fifo_messages.
create or replace function queue.lock_groups(p_queue_id int, p_groups text[]) returns void
language plpgsql as $$
begin
    perform from queue.fifo_group g
    where g.group_key = any (array(     -- one by one, since an array alone may be a filter of all the queue's groups
        select (select e.group_key from queue.fifo_group e where e.queue_id = p_queue_id and e.group_id = u.group_id)
        from unnest(p_groups) u(group_id)))
    order by g.group_key for update;
    insert into queue.fifo_group (queue_id, group_id, visible_at)
    select p_queue_id, m.group_id, 'infinity'
    from unnest(p_groups) m(group_id)
    where not exists (select from queue.fifo_group g
                      where g.queue_id = p_queue_id and g.group_id = m.group_id for update)
    order by m.group_id
    on conflict (queue_id, group_id) do update set visible_at = queue.fifo_group.visible_at;
end $$;
