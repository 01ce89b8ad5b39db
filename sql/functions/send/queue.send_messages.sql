-- queue.send_messages: appends messages to one or more queues, all in this transaction.
-- Parameters, arrays that begin at 1, with an element a message: queue's ARN, message id, body, size in bytes (body and
--   attributes), message attributes, system attributes, delay in seconds (null: the queue's), group, deduplication id;
--   a null array stands for an array of nulls. p_async_commit: do not wait for the disk (synchronous_commit = off for
--   this transaction).
-- Returns a row a message: n (1, 2, …), id (public), message_id and sequence_number (FIFO; the original's for a
--   duplicate), error (a class of errors.py; nothing was stored for this one) and detail.
-- Locks: writer of one shard a queue (never waited for); FIFO: the groups' rows. Index: log_pkey.
create or replace function queue.send_messages(
    p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_attributes jsonb[], p_system jsonb[],
    p_delays int[], p_groups text[], p_deduplication_ids text[], p_async_commit boolean default false)
returns table (n int, id bigint, message_id text, sequence_number bigint, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_arns text[];
    v_arn text;
    v_queue record;
    v_shard int;
    v_now timestamptz;
    v_stored int;
begin
    if p_async_commit then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    v_arns := p_queues[1:1];
    if p_queues[1] <> any (p_queues) then
        v_arns := array(select distinct arn from unnest(p_queues) arn order by arn);
    end if;
    foreach v_arn in array v_arns loop
        select q.queue_id, q.fifo, q.shards, q.delay_seconds, q.maximum_message_bytes
        into v_queue from queue.queues q where q.arn = v_arn;
        if v_queue.queue_id is null then
            return query
            select u.n::int, null::bigint, null::text, null::bigint, 'QueueDoesNotExist'::text, null::text
            from unnest(p_queues) with ordinality u(arn, n) where u.arn = v_arn;
            continue;
        end if;
        if v_queue.maximum_message_bytes < any (p_sizes) then
            return query
            select u.n::int, null::bigint, null::text, null::bigint, 'MessageTooLong'::text,
                v_queue.maximum_message_bytes::text
            from unnest(p_queues, p_sizes) with ordinality u(arn, size, n)
            where u.arn = v_arn and u.size > v_queue.maximum_message_bytes;
        end if;
        -- Below, the numbers of the messages are sorted and kept, not the messages: a body is copied once, into its row.
        if v_queue.fifo then
            return query
            with entry as materialized (
                select e.* from queue.number_fifo_messages(v_arn, p_queues, p_message_ids, p_bodies, p_sizes, p_groups,
                    p_deduplication_ids) e),
            stored as (
                insert into queue.fifo_message (id, group_key, visible_at, sent_at, message_id, queue_id,
                    deduplication_id, body, attributes, system)
                select e.id, e.group_key, e.sent_at + v_queue.delay_seconds * interval '1 second', e.sent_at,
                    p_message_ids[e.n], v_queue.queue_id, e.deduplication_id, p_bodies[e.n], p_attributes[e.n],
                    coalesce(p_system[e.n], '{}') || jsonb_build_object('MessageGroupId', p_groups[e.n])
                from entry e where e.group_key is not null)
            select e.n, queue.public_id(-2, e.id), e.message_id, e.id, e.error, e.detail from entry e;
            perform queue.notify_watchers(v_queue.queue_id, v_arn, true);
            continue;
        end if;
        v_shard := queue.claim_shard(v_queue.queue_id, v_queue.shards);
        v_now := clock_timestamp();
        if v_shard >= 0 then
            return query
            with head as materialized (
                select greatest(c.pos,
                    (select l.id from queue.log l
                     where l.queue_id = v_queue.queue_id and l.shard = v_shard and l.id > c.pos
                     order by l.id desc limit 1),
                    (select max(h.id) from queue.hole h
                     where h.queue_id = v_queue.queue_id and h.shard = v_shard)) as id
                from (select c.pos from queue.lease c where c.queue_id = v_queue.queue_id and c.shard = v_shard
                      order by c.pos desc limit 1) c),
            entry as materialized (
                select u.n, head.id + row_number() over (order by u.n) as id
                from head, generate_series(1, cardinality(p_queues)) u(n)
                where p_queues[u.n] = v_arn and p_sizes[u.n] <= v_queue.maximum_message_bytes
                    and coalesce(p_delays[u.n], v_queue.delay_seconds) = 0),
            stored as (
                insert into queue.log (id, sent_at, message_id, queue_id, shard, body, attributes, system)
                select e.id, v_now, p_message_ids[e.n], v_queue.queue_id, v_shard, p_bodies[e.n], p_attributes[e.n],
                    p_system[e.n]
                from entry e)
            select e.n, queue.public_id(v_shard, e.id), null::text, null::bigint, null::text, null::text from entry e;
            get diagnostics v_stored = row_count;
            if v_stored > 0 then
                insert into queue.activity (queue_id, sent) values (v_queue.queue_id, v_stored);
            end if;
        end if;
        if v_shard < 0 or v_queue.delay_seconds > 0 or p_delays is not null then
            return query
            with entry as materialized (
                select u.n, nextval('queue.side_id') as id,
                    v_now + coalesce(p_delays[u.n], v_queue.delay_seconds) * interval '1 second' as visible_at
                from generate_series(1, cardinality(p_queues)) u(n)
                where p_queues[u.n] = v_arn and p_sizes[u.n] <= v_queue.maximum_message_bytes
                    and (v_shard < 0 or coalesce(p_delays[u.n], v_queue.delay_seconds) > 0)),
            stored as (
                insert into queue.side (id, visible_at, sent_at, message_id, queue_id, shard, body, attributes, system)
                select e.id, e.visible_at, v_now, p_message_ids[e.n], v_queue.queue_id, -1, p_bodies[e.n],
                    p_attributes[e.n], p_system[e.n]
                from entry e)
            select e.n, queue.public_id(-1, e.id), null::text, null::bigint, null::text, null::text from entry e;
            get diagnostics v_stored = row_count;
            if v_stored > 0 then
                insert into queue.activity (queue_id, sent) values (v_queue.queue_id, v_stored);
            end if;
        end if;
        perform queue.notify_watchers(v_queue.queue_id, v_arn, true);
    end loop;
end $$;
