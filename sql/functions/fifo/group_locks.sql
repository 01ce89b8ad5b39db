-- Locks of FIFO groups.

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

-- queue.try_lock_group: locks the row of a message group until the end of the transaction. Returns the group's key.
-- Creates a missing row. Returns null if another transaction has locked or is creating the row. The caller has locked
-- other groups, and therefore must not wait.
create or replace function queue.try_lock_group(p_queue_id int, p_group_id text) returns bigint
language plpgsql set lock_timeout = '1ms' as $$
declare
    v_key bigint;
begin
    select g.group_key into v_key from queue.fifo_group g
    where g.queue_id = p_queue_id and g.group_id = p_group_id for update skip locked;
    if v_key is null and not exists (
        select from queue.fifo_group g where g.queue_id = p_queue_id and g.group_id = p_group_id)
    then
        insert into queue.fifo_group (queue_id, group_id) values (p_queue_id, p_group_id)
        on conflict do nothing returning group_key into v_key;
        if v_key is not null then
            insert into queue.fifo_ready (group_key, queue_id, visible_at, first_id)
            values (v_key, p_queue_id, 'infinity', 0);
        end if;
    end if;
    return v_key;
exception when lock_not_available then
    return null;
end $$;
