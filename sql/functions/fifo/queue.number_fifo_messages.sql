-- queue.number_fifo_messages: gives the messages for one FIFO queue out of the arrays of send_messages their ids, and finds
-- those whose deduplication id was seen in the last five minutes. The caller stores the others, at the time sent_at; they
-- are counted here.
-- Returns a row a message: n, id and message_id (of a duplicate the original's; a new message has no message_id),
--   group_key, sent_at, deduplication_id, error and detail as send_messages.
-- Locks: the groups' rows, then deduplication ids in their order, to the end of the transaction: senders of one group
--   commit in the order of ids.
create or replace function queue.number_fifo_messages(
    p_arn text, p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_groups text[],
    p_deduplication_ids text[])
returns table (n int, id bigint, message_id text, group_key bigint, sent_at timestamptz, deduplication_id text, error text,
    detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_now timestamptz;
    v_new int;
    v_groups text[];
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    v_groups := array(      -- without the groups of the other queues in these arrays
        select distinct u.group_id from unnest(p_queues, p_groups, p_sizes) u(arn, group_id, size)
        where u.arn = p_arn and u.group_id is not null and u.size <= v_queue.maximum_message_bytes);
    perform queue.lock_groups(v_queue.queue_id, v_groups, v_queue.delay_seconds * interval '1 second');
    v_now := clock_timestamp();
    return query
    with entry as materialized (
        select e.*, nextval('queue.fifo_id') as id
        from queue.fifo_entries(v_queue, p_queues, p_message_ids, p_bodies, p_sizes, p_groups, p_deduplication_ids) e
        where e.group_key is not null and e.deduplication_id is not null),
    claimed as (
        insert into queue.deduplication as d (queue_id, scope, deduplication_id, message_id, id, expires_at)
        select distinct on (e.scope, e.deduplication_id) v_queue.queue_id, e.scope, e.deduplication_id, e.message_id,
            e.id, v_now + interval '5 minutes'
        from entry e order by e.scope, e.deduplication_id, e.id
        on conflict (queue_id, scope, deduplication_id) do update
            set message_id = excluded.message_id, id = excluded.id, expires_at = excluded.expires_at
            where d.expires_at <= v_now
        returning d.id)
    select e.n, e.id, null::text, e.group_key, v_now, e.deduplication_id, null::text, null::text
    from entry e where e.id in (select c.id from claimed c);
    get diagnostics v_new = row_count;
    if v_new > 0 then
        insert into queue.activity (queue_id, sent) values (v_queue.queue_id, v_new);
    end if;
    if v_new = (select count(*) from unnest(p_queues, p_sizes) u(arn, size)
                where u.arn = p_arn and u.size <= v_queue.maximum_message_bytes)
    then
        return;
    end if;
    return query        -- some entries are duplicates, or lack a group or a deduplication id
    select e.n, d.id, d.message_id::text, null::bigint, null::timestamptz, null::text,
        case when e.group_key is null then 'MissingParameter'
             when e.deduplication_id is null then 'DeduplicationIdRequired' end,
        case when e.group_key is null then 'MessageGroupId' end
    from queue.fifo_entries(v_queue, p_queues, p_message_ids, p_bodies, p_sizes, p_groups, p_deduplication_ids) e
    left join queue.deduplication d
        on d.queue_id = v_queue.queue_id and d.scope = e.scope and d.deduplication_id = e.deduplication_id
    where e.group_key is null or e.deduplication_id is null or d.message_id <> e.message_id;
    perform queue.update_groups(array(      -- the groups that get no message
        select e.group_key
        from queue.fifo_entries(v_queue, p_queues, p_message_ids, p_bodies, p_sizes, p_groups, p_deduplication_ids) e
        left join queue.deduplication d
            on d.queue_id = v_queue.queue_id and d.scope = e.scope and d.deduplication_id = e.deduplication_id
        where e.group_key is not null
        group by e.group_key having not bool_or(coalesce(d.message_id = e.message_id, false))));
end $$;
