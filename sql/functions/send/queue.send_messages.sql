-- queue.send_messages: appends messages to one or more queues in this transaction. Each message has an element in each
-- array. The arrays begin at 1. A null array means an array of nulls.
--   `p_sizes` is the bytes of body and attributes.
--   `p_delays` is in seconds. Null means the queue's delay.
--   `p_async_commit` is true if the commit does not wait for the disk (synchronous_commit = off).
-- Returns a row for each message:
--   `n` is the position of the message, from 1.
--   `id` is the public id.
--   `message_id` and `sequence_number` are set for FIFO queues. A duplicate has the values of the original.
--   `error` is a class of errors.py. The function has not stored a message with an error.
-- For each queue, locks the writer of one shard without waiting. For FIFO queues, locks the groups' rows. Uses the
-- index log_pkey.
-- The body is long, because a call of another function would cost every send. Its parts are numbered.
-- The columns are separate arrays and not an array of a composite type, for two reasons. A new column is a parameter
-- with a default, so that the calls of the previous release stay valid (decision 7). Python writes an array in one step
-- (decision 2), and would have to write a composite value field by field.
-- This file also contains number_fifo_messages and fifo_entries.
create or replace function queue.send_messages(
    p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_attributes jsonb[] default null,
    p_system jsonb[] default null, p_delays int[] default null, p_groups text[] default null,
    p_deduplication_ids text[] default null, p_async_commit boolean default false)
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
        -- 1. Refuse messages without a queue, and messages that are too long.
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
        -- 2. Store the messages of a FIFO queue. Parts 2, 4 and 5 sort only the messages' numbers, so PostgreSQL copies
        -- a body only once, into its row.
        if v_queue.fifo then
            return query
            with entry as materialized (
                select e.* from queue.number_fifo_messages(
                    p_arn => v_arn, p_queues => p_queues, p_message_ids => p_message_ids, p_bodies => p_bodies,
                    p_sizes => p_sizes, p_groups => p_groups, p_deduplication_ids => p_deduplication_ids) e),
            stored as (
                insert into queue.fifo_message (id, group_key, visible_at, sent_at, message_id, queue_id,
                    deduplication_id, body, attributes, system)
                select e.id, e.group_key, e.sent_at + v_queue.delay_seconds * interval '1 second', e.sent_at,
                    p_message_ids[e.n], v_queue.queue_id, e.deduplication_id, p_bodies[e.n], p_attributes[e.n],
                    coalesce(p_system[e.n], '{}') || jsonb_build_object('MessageGroupId', p_groups[e.n])
                from entry e where e.group_key is not null)
            select e.n, queue.public_id(queue.fifo_shard(), e.id), e.message_id, e.id, e.error, e.detail from entry e;
            perform queue.notify_watchers(v_queue.queue_id, v_arn, true);
            continue;
        end if;
        -- 3. Lock a shard. The transaction writes to no shard if all shards have a writer, or if its snapshot hides the
        -- end of the log.
        v_shard := queue.side_shard();
        if current_setting('transaction_isolation') = 'read committed' then
            for v_step in 0 .. v_queue.shards - 1 loop
                v_shard := (pg_backend_pid() + v_step) % v_queue.shards;
                exit when pg_try_advisory_xact_lock(queue.lock_key(0, v_queue.queue_id, v_shard));
                v_shard := queue.side_shard();
            end loop;
        end if;
        -- 4. Append messages without a delay to the log of the shard.
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
        -- 5. Store delayed messages in the side table (queue.side), and all messages if no shard was free.
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
                select e.id, e.visible_at, v_now, p_message_ids[e.n], v_queue.queue_id, queue.side_shard(),
                    p_bodies[e.n], p_attributes[e.n], p_system[e.n]
                from entry e)
            select e.n, queue.public_id(queue.side_shard(), e.id), null::text, null::bigint, null::text, null::text
            from entry e;
            get diagnostics v_stored = row_count;
            if v_stored > 0 then
                insert into queue.activity (queue_id, sent) values (v_queue.queue_id, v_stored);
            end if;
        end if;
        perform queue.notify_watchers(v_queue.queue_id, v_arn, true);
    end loop;
end $$;

-- queue.number_fifo_messages: assigns ids to the messages of a FIFO queue, and finds duplicates of the last five
-- minutes. Takes the arrays of send_messages. The caller stores the messages that are not duplicates, with sent_at as
-- their time. This function counts these messages.
--   `n` is the position of the message, from 1.
--   `id` and `message_id` are the original's values for a duplicate. A new message has no message_id.
--   `error` and `detail` have the same meaning as in send_messages.
-- Locks the groups' rows and then deduplication ids in their order until the end of the transaction, so senders of a
-- group commit in the order of ids.
create or replace function queue.number_fifo_messages(
    p_arn text, p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_groups text[],
    p_deduplication_ids text[])
returns table (n int, id bigint, message_id text, group_key bigint, sent_at timestamptz, deduplication_id text,
    error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_now timestamptz;
    v_new int;
    v_groups text[];
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    -- A single message needs no query.
    v_groups := p_groups[1:1];
    if cardinality(p_queues) > 1 or v_groups[1] is null or p_sizes[1] > v_queue.maximum_message_bytes then
        v_groups := array(      -- This condition excludes groups of other queues in the arrays.
            select distinct u.group_id from unnest(p_queues, p_groups, p_sizes) u(arn, group_id, size)
            where u.arn = p_arn and u.group_id is not null and u.size <= v_queue.maximum_message_bytes);
    end if;
    -- An expired message does not block its group (take_groups), even if the message is still delayed.
    perform queue.lock_groups(v_queue.queue_id, v_groups,
        least(v_queue.delay_seconds, v_queue.retention_seconds) * interval '1 second');
    v_now := clock_timestamp();
    return query
    with entry as materialized (
        select e.*, nextval('queue.fifo_id') as id
        from queue.fifo_entries(
            p_queue => v_queue, p_queues => p_queues, p_message_ids => p_message_ids, p_bodies => p_bodies,
            p_sizes => p_sizes, p_groups => p_groups, p_deduplication_ids => p_deduplication_ids) e
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
    if v_new = cardinality(p_queues) then       -- All messages are new, and none is for another queue.
        return;
    elsif v_new = (select count(*) from unnest(p_queues, p_sizes) u(arn, size)
                   where u.arn = p_arn and u.size <= v_queue.maximum_message_bytes)
    then
        return;
    end if;
    -- Some entries are duplicates, or lack a group or a deduplication id. Only a call with such an entry computes
    -- fifo_entries again. If all calls put the entries into arrays, a send of new messages would be 7% slower, and a
    -- send of duplicates 8% faster.
    return query
    select e.n, d.id, d.message_id::text, null::bigint, null::timestamptz, null::text,
        case when e.group_key is null then 'MissingParameter'
             when e.deduplication_id is null then 'DeduplicationIdRequired' end,
        case when e.group_key is null then 'MessageGroupId' end
    from queue.fifo_entries(
        p_queue => v_queue, p_queues => p_queues, p_message_ids => p_message_ids, p_bodies => p_bodies,
        p_sizes => p_sizes, p_groups => p_groups, p_deduplication_ids => p_deduplication_ids) e
    left join queue.deduplication d
        on d.queue_id = v_queue.queue_id and d.scope = e.scope and d.deduplication_id = e.deduplication_id
    where e.group_key is null or e.deduplication_id is null or d.message_id <> e.message_id;
    perform queue.update_groups(array(      -- The call sends no new message to these groups.
        select e.group_key
        from queue.fifo_entries(
            p_queue => v_queue, p_queues => p_queues, p_message_ids => p_message_ids, p_bodies => p_bodies,
            p_sizes => p_sizes, p_groups => p_groups, p_deduplication_ids => p_deduplication_ids) e
        left join queue.deduplication d
            on d.queue_id = v_queue.queue_id and d.scope = e.scope and d.deduplication_id = e.deduplication_id
        where e.group_key is not null
        group by e.group_key having not bool_or(coalesce(d.message_id = e.message_id, false))));
end $$;

-- queue.fifo_entries: returns the messages of a FIFO queue with their groups' keys and deduplication ids. Takes the
-- arrays of send_messages. If a message has no id and the queue deduplicates by content, the id is the SHA-256 of the
-- body. If the queue's scope was all groups when an id arrived, the id keeps this scope for five minutes (recorded at
-- AWS). Ids with another scope exist only if the queue's setting has changed since then. Uses the index
-- fifo_group_queue_id_group_id_key.
create or replace function queue.fifo_entries(
    p_queue queue.queues, p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_groups text[],
    p_deduplication_ids text[])
returns table (n int, message_id uuid, group_key bigint, scope text, deduplication_id text)
language sql stable as $$
select u.n::int, u.message_id,
    (select g.group_key from queue.fifo_group g where g.queue_id = p_queue.queue_id and g.group_id = u.group_id),
    case when p_queue.deduplicates_groups
            and not (p_queue.modified_at > statement_timestamp() - interval '5 minutes' and exists (
                select from queue.deduplication d
                where d.queue_id = p_queue.queue_id and d.scope = '' and d.deduplication_id = i.deduplication_id
                    and d.expires_at > statement_timestamp()))
        then u.group_id else '' end,
    i.deduplication_id
from unnest(p_queues, p_message_ids, p_bodies, p_sizes, p_groups, p_deduplication_ids)
    with ordinality u(arn, message_id, body, size, group_id, given_id, n)
cross join lateral (
    select coalesce(u.given_id, case when p_queue.content_based_deduplication
        then encode(sha256(convert_to(u.body, 'UTF8')), 'hex') end)) i(deduplication_id)
where u.arn = p_queue.arn and u.size <= p_queue.maximum_message_bytes
order by u.n
$$;
