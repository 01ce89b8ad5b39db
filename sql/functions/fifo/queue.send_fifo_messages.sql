-- queue.send_fifo_messages: appends the messages for one FIFO queue out of the arrays of send_messages.
-- A message whose deduplication id was seen in the last five minutes is accepted and not stored again.
-- Returns: as send_messages. Locks: the groups' rows, then deduplication ids in their order, to the end of the
--   transaction: senders of one group commit in the order of ids. Called by: send_messages.
create or replace function queue.send_fifo_messages(
    p_arn text, p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_attributes jsonb[],
    p_system jsonb[], p_groups text[], p_deduplication_ids text[])
returns table (n int, id bigint, message_id text, sequence_number bigint, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_now timestamptz;
    v_stored int;
    v_delay interval;
    v_groups text[];
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    v_delay := v_queue.delay_seconds * interval '1 second';
    v_groups := array(      -- without the groups of the other queues in these arrays
        select distinct u.group_id from unnest(p_queues, p_groups, p_sizes) u(arn, group_id, size)
        where u.arn = p_arn and u.group_id is not null and u.size <= v_queue.maximum_message_bytes);
    perform queue.lock_groups(v_queue.queue_id, v_groups, v_delay);
    v_now := clock_timestamp();
    return query
    with entry as materialized (
        select e.*, nextval('queue.fifo_id') as id
        from queue.fifo_entries(v_queue, p_queues, p_message_ids, p_bodies, p_sizes, p_attributes, p_system,
            p_groups, p_deduplication_ids) e
        where e.group_key is not null and e.deduplication_id is not null),
    claimed as (
        insert into queue.deduplication as d (queue_id, scope, deduplication_id, message_id, id, expires_at)
        select distinct on (e.scope, e.deduplication_id) v_queue.queue_id, e.scope, e.deduplication_id, e.message_id,
            e.id, v_now + interval '5 minutes'
        from entry e order by e.scope, e.deduplication_id, e.id
        on conflict (queue_id, scope, deduplication_id) do update
            set message_id = excluded.message_id, id = excluded.id, expires_at = excluded.expires_at
            where d.expires_at <= v_now
        returning d.id),
    stored as (
        insert into queue.fifo_message (id, group_key, visible_at, sent_at, message_id, queue_id, deduplication_id,
            body, attributes, system)
        select e.id, e.group_key, v_now + v_delay, v_now, e.message_id,
            v_queue.queue_id, e.deduplication_id, e.body, e.attributes,
            coalesce(e.system, '{}') || jsonb_build_object('MessageGroupId', e.group_id)
        from entry e where e.id in (select c.id from claimed c))
    select e.n, queue.public_id(-2, e.id), null::text, e.id, null::text, null::text
    from entry e where e.id in (select c.id from claimed c);
    get diagnostics v_stored = row_count;
    if v_stored < (select count(*) from unnest(p_queues, p_sizes) u(arn, size)
                   where u.arn = p_arn and u.size <= v_queue.maximum_message_bytes)
    then        -- some entries are duplicates, or lack a group or a deduplication id
        return query
        select e.n, queue.public_id(-2, d.id), d.message_id::text, d.id,
            case when e.group_key is null then 'MissingParameter'
                 when e.deduplication_id is null then 'DeduplicationIdRequired' end,
            case when e.group_key is null then 'MessageGroupId' end
        from queue.fifo_entries(v_queue, p_queues, p_message_ids, p_bodies, p_sizes, p_attributes, p_system,
            p_groups, p_deduplication_ids) e
        left join queue.deduplication d
            on d.queue_id = v_queue.queue_id and d.scope = e.scope and d.deduplication_id = e.deduplication_id
        where e.group_key is null or e.deduplication_id is null or d.message_id <> e.message_id;
        perform queue.update_groups(array(      -- some groups may have got no message
            select (select g.group_key from queue.fifo_group g
                    where g.queue_id = v_queue.queue_id and g.group_id = u.group_id)
            from unnest(v_groups) u(group_id)));
    end if;
    perform queue.notify_watchers(v_queue.queue_id, p_arn, true);
end $$;
