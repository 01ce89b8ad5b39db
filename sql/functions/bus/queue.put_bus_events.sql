-- queue.put_bus_events: publishes events on a bus in this transaction. Each event has an element in each array. The
-- arrays begin at 1. A null array means an array of nulls.
--   `p_account` is the publisher's account.
--   `p_content_types` has the values of queue.event.content_type.
--   `p_deduplication_ids` and `p_content_hashes` (SHA-256) are null for events without deduplication. The id takes
--     precedence over the hash.
--   `p_passed` has the ARNs of the buses that forwarded the event, separated by blanks.
--   `p_is_application` is true in an application's transaction, which can stay open.
-- Returns one row:
--   `numbers` has the sequence number of each event. A duplicate has the number of the original.
--   `originals` has the event id of the original for each duplicate. It is null for the other events, and the array is
--     null if no event has a deduplication id or a hash.
--   `error` is ResourceNotFound or null.
-- The columns are assigned, because each statement costs as much as ten events or more. Statements read the events from
-- unnest, so that PostgreSQL keeps their plans. PostgreSQL would plan each call again with generate_series, of which it
-- expects 1,000 rows in a plan for all calls.
-- The transaction receives its id before it takes numbers, so sequence_events knows which transactions can still insert
-- a number. It takes numbers before the time, so an event is never older than an event with a lower number by more than
-- the duration of this call. It takes blocks of 1,024 numbers, because a nextval for each event is a third of the work
-- of this function. Works under every isolation level.
-- The first event of each run describes the run, so sequence_events need not read the other events. A run has up to 100
-- events of a block, or one event if the call is longer than a MiB or has duplicates.
-- The function locks no group. If two calls overlap in time, subscribers can receive the higher number first. A lock of
-- 1,000 groups that 16 publishers share would cost two thirds of their throughput (100 events a call, 2026-11-30).
-- This file also contains event_digest.
create or replace function queue.put_bus_events(
    p_bus text, p_account text, p_event_ids uuid[], p_content_types smallint[], p_data bytea[],
    p_metadata jsonb[] default null, p_sources text[] default null, p_detail_types text[] default null,
    p_groups text[] default null, p_deduplication_ids text[] default null, p_content_hashes bytea[] default null,
    p_passed text[] default null, p_is_application boolean default false)
returns table (numbers bigint[], originals uuid[], error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_bus record;
    v_count int := cardinality(p_event_ids);
    v_xid xid8;
    v_blocks bigint[] := '{}';
    v_new int[];
    v_now timestamptz;
    v_longest_run int := case when pg_column_size(p_data) > 1048576 then 1 else 100 end;
    v_first int := 1;
    v_last int;
    v_run_events int[];
    v_run_bytes int[];
begin
    select b.bus_id, nullif(p_account, b.account_id) as publisher, queue.retention_class(b.retention_days) as class
    into v_bus from queue.event_bus b where b.arn = p_bus;
    if not found then
        error := 'ResourceNotFound';
        return next;
        return;
    end if;
    v_xid := pg_current_xact_id();
    while cardinality(v_blocks) << 10 < v_count loop
        v_blocks := v_blocks || nextval('queue.event_block');
    end loop;
    numbers := array(
        select (v_blocks[((u.n - 1) >> 10) + 1] << 10) + ((u.n - 1) & 1023)
        from unnest(p_event_ids) with ordinality u(id, n));
    v_now := clock_timestamp();
    if p_deduplication_ids is not null or p_content_hashes is not null then
        with entry as materialized (
            select u.n, d.digest
            from generate_series(1, v_count) u(n)
            cross join lateral (select queue.event_digest(p_account, p_groups[u.n], p_deduplication_ids[u.n],
                p_content_hashes[u.n])) d(digest)),
        claimed as (
            insert into queue.event_deduplication as d (bus_id, digest, event_id, number, expires_at)
            select distinct on (e.digest) v_bus.bus_id, e.digest, p_event_ids[e.n], numbers[e.n],
                v_now + interval '300 seconds'
            from entry e where e.digest is not null order by e.digest, e.n
            on conflict (bus_id, digest) do update
                set event_id = excluded.event_id, number = excluded.number, expires_at = excluded.expires_at
                where d.expires_at <= v_now
            returning d.number)
        select coalesce(array_agg(e.n), '{}') into v_new from entry e
        where e.digest is null or numbers[e.n] in (select c.number from claimed c);
        if cardinality(v_new) < v_count then
            v_longest_run := 1;
        end if;
    end if;
    while v_first <= v_count loop
        v_last := least(v_first + v_longest_run - 1, ((v_first - 1) | 1023) + 1, v_count);
        v_run_events[v_first] := v_last - v_first + 1;
        -- The binary form of an array has 20 bytes, and 4 bytes before each element (array_send).
        v_run_bytes[v_first] := octet_length(array_send(p_data[v_first:v_last])) - 20 - 4 * v_run_events[v_first];
        v_first := v_last + 1;
    end loop;
    insert into queue.event (number, bus_id, ingested_at, event_id, retention_class, content_type, account_id, group_id,
        deduplication_id, source, detail_type, metadata, data, passed, run_events, run_bytes)
    select numbers[u.n], v_bus.bus_id, v_now, u.id, v_bus.class, p_content_types[u.n], v_bus.publisher,
        p_groups[u.n], p_deduplication_ids[u.n], p_sources[u.n], p_detail_types[u.n], p_metadata[u.n], p_data[u.n],
        p_passed[u.n], v_run_events[u.n], v_run_bytes[u.n]
    from unnest(p_event_ids) with ordinality u(id, n)
    where p_deduplication_ids is null and p_content_hashes is null or u.n = any (v_new);
    if exists (
        select from queue.watcher w where w.queue_id = -1 and w.registered_at > v_now - interval '5 seconds')
    then
        perform queue.wake_event_delivery(p_is_application);
    end if;
    if p_deduplication_ids is null and p_content_hashes is null then
        return next;
        return;
    end if;
    return query
    select array_agg(coalesce(d.number, numbers[u.n]) order by u.n),
        array_agg(case when u.n <> all (v_new) then coalesce(d.event_id, p_event_ids[u.n]) end order by u.n), null::text
    from generate_series(1, v_count) u(n)
    left join queue.event_deduplication d
        on u.n <> all (v_new) and d.bus_id = v_bus.bus_id
            and d.digest = queue.event_digest(p_account, p_groups[u.n], p_deduplication_ids[u.n],
                p_content_hashes[u.n]);
end $$;

-- queue.event_digest: returns the key of a deduplication id or content hash, in the scope of its account and group.
-- Returns null if the event has neither.
create or replace function queue.event_digest(p_account text, p_group text, p_id text, p_hash bytea) returns uuid
language sql immutable parallel safe
return case when p_id is not null or p_hash is not null then
    substring(encode(sha256(convert_to(jsonb_build_array(p_account, p_group, p_id,
        case when p_id is null then encode(p_hash, 'hex') end)::text, 'UTF8')), 'hex') for 32)::uuid end;
