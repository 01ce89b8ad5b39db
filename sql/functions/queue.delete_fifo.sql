-- queue.delete_fifo: deletes FIFO messages under the handles of one receive count (null: whatever it is, in flight or
-- not) and lets their groups go on. Returns a row a handle, as delete_messages.
-- The caller holds the groups' rows (lock_groups_of). Index: fifo_message_pkey. Called by: delete_messages, delete_one.
create or replace function queue.delete_fifo(
    p_queue_id int, p_receive_count int, p_ids bigint[], p_numbers int[], p_archives boolean, p_keeps_history boolean)
returns table (n int, outcome text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_rows tid[];
    v_groups bigint[];
    v_group bigint;
    v_hit bigint[];
    v_expired bigint[];
begin
    -- One by one, since an array alone may be a filter of all messages. The groups are locked: nobody moves these rows.
    v_rows := array(
        select (select m.ctid from queue.fifo_message m where m.id = u.id and m.queue_id = p_queue_id)
        from unnest(p_ids) u(id));
    v_groups := array(select m.group_key from queue.fifo_message m where m.ctid = any (v_rows));
    v_now := clock_timestamp();
    v_expired := array(
        select m.id from queue.fifo_message m
        where m.ctid = any (v_rows) and p_receive_count is not null
            and (m.receive_count > p_receive_count or m.visible_at <= v_now));
    with deleted as (
        delete from queue.fifo_message m
        where m.ctid = any (v_rows) and m.id <> all (v_expired)
            and m.receive_count = coalesce(p_receive_count, m.receive_count)
        returning m.*),
    archived as (
        insert into queue.archive (queue_id, public_id, message_id, sent_at, receive_count, body, attributes, system)
        select p_queue_id, queue.public_id(-2, d.id), d.message_id, d.sent_at, d.receive_count, d.body, d.attributes,
            d.system
        from deleted d where p_archives),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, group_id, sent_at, finished_at)
        select p_queue_id, 'deleted', d.receive_count, d.first_received_at, d.system ->> 'MessageGroupId',
            array_agg(d.sent_at), array_agg(v_now)
        from deleted d where p_keeps_history group by 3, 4, 5)
    select array_agg(d.id) into v_hit from deleted d;
    for v_group in select distinct g from unnest(v_groups) g loop
        perform queue.settle_group(v_group);
    end loop;
    return query
    select u.n, case when u.id = any (v_hit) then 'deleted' when u.id = any (v_expired) then 'expired' else 'gone' end
    from unnest(p_numbers, p_ids) u(n, id);
end $$;
