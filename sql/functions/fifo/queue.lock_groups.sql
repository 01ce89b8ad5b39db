-- queue.lock_groups: locks message groups until the end of the transaction, for a caller that appends messages to each
-- of them. Creates missing groups. New and empty groups become ready after p_delay, when their first message becomes
-- visible or expires. Locks existing groups in the order of their keys, then new groups in the order of their names, so
-- that senders do not deadlock. Uses the indexes fifo_group_queue_id_group_id_key, fifo_group_pkey and fifo_ready_pkey.
create or replace function queue.lock_groups(p_queue_id int, p_groups text[], p_delay interval) returns void
language plpgsql as $$
declare
    v_found text[];
    v_keys bigint[];
    v_new bigint[];
begin
    select array_agg(l.group_id), array_agg(l.group_key) into v_found, v_keys
    from (
        select g.group_id, g.group_key from queue.fifo_group g
        -- Each name needs a separate look-up, because for `= any (…)` the planner can choose a scan of all the queue's
        -- groups.
        where g.group_key = any (array(
            select (select e.group_key from queue.fifo_group e where e.queue_id = p_queue_id
                and e.group_id = u.group_id)
            from unnest(p_groups) u(group_id)))
        order by g.group_key for update) l;
    if coalesce(cardinality(v_found), 0) < cardinality(p_groups) then
        with made as (
            insert into queue.fifo_group (queue_id, group_id)
            select p_queue_id, m.group_id
            from unnest(p_groups) m(group_id)
            where coalesce(m.group_id <> all (v_found), true)
            order by m.group_id
            -- A concurrent sender has created the group.
            on conflict (queue_id, group_id) do update set group_id = excluded.group_id
            returning group_key)
        select array_agg(m.group_key) into v_new from made m;
    end if;
    if current_setting('transaction_isolation') <> 'read committed' then       -- An old snapshot can lack new rows.
        perform from queue.fifo_ready r where r.group_key = any (v_keys) order by r.group_key for update;
    end if;
    with empty as materialized (
        select u.group_key, r.place, r.first_id
        from unnest(v_keys || v_new) u(group_key)
        left join lateral (
            select f.ctid as place, f.visible_at, f.first_id from queue.fifo_ready f
            where f.group_key = u.group_key order by f.version desc limit 1) r on true
        where coalesce(r.visible_at, 'infinity') = 'infinity'),
    replaced as (
        delete from queue.fifo_ready r where r.ctid = any (array(select e.place from empty e)))
    insert into queue.fifo_ready (group_key, queue_id, visible_at, first_id)
    select e.group_key, p_queue_id, clock_timestamp() + p_delay, coalesce(e.first_id, 0) from empty e;
end $$;
