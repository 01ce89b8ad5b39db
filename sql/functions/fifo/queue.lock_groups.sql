-- queue.lock_groups(queue, groups, delay): locks the rows of message groups to the end of the transaction, for a caller
-- that appends to each of them messages that become visible after the delay. It makes missing groups. New and empty
-- groups become ready when their messages do.
-- It locks existing groups in the order of their keys, then new ones in the order of their names: no two senders
-- deadlock.
-- Index: fifo_group_queue_id_group_id_key, fifo_group_pkey. Called by: send_fifo_messages.
drop function if exists queue.lock_groups(int, text[]);
create or replace function queue.lock_groups(p_queue_id int, p_groups text[], p_delay interval) returns void
language plpgsql as $$
declare
    v_found text[];
    v_empty bigint[];
begin
    select array_agg(l.group_id), array_agg(l.group_key) filter (where l.visible_at = 'infinity')
    into v_found, v_empty
    from (
        select g.group_id, g.group_key, g.visible_at from queue.fifo_group g
        where g.group_key = any (array( -- one lookup a name: with an array the planner may read all the queue's groups
            select (select e.group_key from queue.fifo_group e where e.queue_id = p_queue_id and e.group_id = u.group_id)
            from unnest(p_groups) u(group_id)))
        order by g.group_key for update) l;
    if v_empty is not null then
        update queue.fifo_group g set visible_at = clock_timestamp() + p_delay where g.group_key = any (v_empty);
    end if;
    if cardinality(v_found) = cardinality(p_groups) then
        return;
    end if;
    insert into queue.fifo_group (queue_id, group_id, visible_at)
    select p_queue_id, m.group_id, clock_timestamp() + p_delay
    from unnest(p_groups) m(group_id)
    where coalesce(m.group_id <> all (v_found), true)
    order by m.group_id
    on conflict (queue_id, group_id) do update      -- a concurrent sender has just made it
    set visible_at = case when queue.fifo_group.visible_at = 'infinity' then excluded.visible_at
                     else queue.fifo_group.visible_at end;
end $$;
