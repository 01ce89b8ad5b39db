-- queue.claim_event_batches: leases events to a worker that sends them to targets outside the database. For p_lease_ms,
-- no other worker receives these events, and only the holder of the lease can settle them.
--   `p_carriers` has the carriers of the process (queue.event_subscriber.carrier).
--   `p_subscribers` and `p_busy` are the subscribers to which the process is sending, and their batches under way.
--   `p_per_subscriber` is the most batches under way for a subscriber.
--   `p_batches` and `p_bytes` limit the batches and their payloads. A single event can exceed p_bytes.
-- The events of a subscriber make one or more batches of its batch size, in the order of retry_id. The events of a FIFO
-- subscriber make one batch, with the first events of groups of which no event is under way. The data is null if the
-- bus retains the event no longer. Returns no events for an API destination before its next turn, and otherwise at most
-- as many batches as it takes requests in a second (take_api_destination_turns). Skips locked rows. Uses the indexes
-- event_retry_carried and event_retry_group.
-- This file also contains choose_event_batches and choose_event_batch_in_order.
create or replace function queue.claim_event_batches(
    p_carriers text[], p_lease uuid, p_lease_ms int, p_subscribers bigint[], p_busy int[], p_per_subscriber int,
    p_batches int, p_bytes bigint)
returns table (retry_id bigint, subscriber_id bigint, revision timestamptz, group_key text, attempts int,
    age_seconds double precision, number bigint, ingested_at timestamptz, event_id uuid, content_type smallint,
    data bytea, account_id text, group_id text, deduplication_id text, source text, detail_type text, metadata jsonb,
    passed text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_subscriber record;
    v_left int := p_batches;
    v_bytes bigint := p_bytes;
    v_chosen record;
    v_ids bigint[] := '{}';
begin
    for v_subscriber in
        select s.subscriber_id, s.type, s.batch_size,
            least(p_per_subscriber - coalesce(b.busy, 0), d.rate_limit) as free
        from queue.list_waiting_subscribers() w
        join queue.event_subscriber s on s.subscriber_id = w.subscriber_id
        left join unnest(p_subscribers, p_busy) b(id, busy) on b.id = s.subscriber_id
        left join queue.api_destination d on s.carrier = 'http' and d.arn = s.target_arn
        where w.due_at <= v_now and s.carrier = any (p_carriers) and s.state = 'RUNNING' and s.deliverable
            and not s.revoked and coalesce(b.busy, 0) < p_per_subscriber and coalesce(d.next_turn_at <= v_now, true)
        order by random()
    loop
        exit when v_left <= 0 or v_bytes <= 0;
        if v_subscriber.type = 'FIFO' then
            select c.ids, c.bytes into v_chosen
            from queue.choose_event_batch_in_order(
                v_subscriber.subscriber_id, v_now, v_subscriber.batch_size, v_bytes) c;
        else
            select c.ids, c.bytes into v_chosen
            from queue.choose_event_batches(v_subscriber.subscriber_id, v_now, v_subscriber.batch_size,
                least(v_left, v_subscriber.free), v_bytes) c;
        end if;
        v_ids := v_ids || v_chosen.ids;
        v_left := v_left - ceil(cardinality(v_chosen.ids)::numeric / v_subscriber.batch_size)::int;
        v_bytes := v_bytes - v_chosen.bytes;
    end loop;
    return query
    with leased as (
        update queue.event_retry r set lease = p_lease, due_at = v_now + p_lease_ms * interval '1 millisecond'
        where r.retry_id = any (v_ids)
        returning r.*)
    select d.retry_id, d.subscriber_id, s.updated_at, d.group_key, d.attempts,
        coalesce(extract(epoch from v_now - d.first_attempt_at), 0)::double precision, d.number,
        d.ingested_at, e.event_id, e.content_type, e.data, e.account_id, e.group_id, e.deduplication_id, e.source,
        e.detail_type, e.metadata, e.passed
    from leased d
    join queue.event_subscriber s on s.subscriber_id = d.subscriber_id
    left join queue.event e on e.number = d.number and e.ingested_at = d.ingested_at
    order by d.retry_id;
end $$;

-- queue.choose_event_batches: returns the due events of a subscriber without order, for up to p_batches batches, and
-- their bytes. The last batch also takes events whose batch window is still open. Locks the events.
create or replace function queue.choose_event_batches(
    p_subscriber_id bigint, p_now timestamptz, p_size int, p_batches int, p_bytes bigint, out ids bigint[],
    out bytes bigint)
language plpgsql as $$
#variable_conflict use_column
declare
    v_open record;
begin
    select coalesce(array_agg(t.retry_id), '{}'), coalesce(sum(t.bytes), 0) into ids, bytes
    from (
        select c.retry_id, c.bytes, sum(c.bytes) over (order by c.due_at, c.retry_id) as total
        from (
            select r.retry_id, r.due_at, r.bytes from queue.event_retry r
            where r.subscriber_id = p_subscriber_id and r.carrier is not null and r.due_at <= p_now
            order by r.due_at, r.retry_id limit p_size * p_batches for update skip locked) c) t
    where t.total <= p_bytes or t.total = t.bytes;
    if cardinality(ids) % p_size > 0 and bytes < p_bytes then
        select array_agg(c.retry_id) as ids, sum(c.bytes) as bytes into v_open
        from (
            select r.retry_id, r.bytes from queue.event_retry r
            where r.subscriber_id = p_subscriber_id and r.carrier is not null and r.due_at > p_now
                and r.due_at < 'infinity' and r.attempts = 0 and r.lease is null
            order by r.due_at, r.retry_id limit p_size - cardinality(ids) % p_size for update skip locked) c;
        ids := ids || v_open.ids;
        bytes := bytes + coalesce(v_open.bytes, 0);
    end if;
end $$;

-- queue.choose_event_batch_in_order: returns the events of a FIFO subscriber's next batch, and their bytes. Each group
-- of the batch begins with its first event, which is due and not under way. Locks these first events.
create or replace function queue.choose_event_batch_in_order(
    p_subscriber_id bigint, p_now timestamptz, p_size int, p_bytes bigint, out ids bigint[], out bytes bigint)
language sql as $$
with head as materialized (
    select r.retry_id, r.bytes, r.group_key from queue.event_retry r
    where r.subscriber_id = p_subscriber_id and r.carrier is not null and r.due_at <= p_now
        and not exists (
            select from queue.event_retry x
            where x.subscriber_id = p_subscriber_id and x.group_key = r.group_key and x.retry_id < r.retry_id)
    order by r.due_at, r.retry_id limit p_size for update skip locked),
entry as (
    select h.retry_id, h.bytes from head h
    union all
    select f.retry_id, f.bytes from head h
    cross join lateral (
        select r.retry_id, r.bytes from queue.event_retry r
        where r.subscriber_id = p_subscriber_id and r.group_key = h.group_key and r.retry_id > h.retry_id
        order by r.retry_id limit p_size) f),
counted as (
    select e.retry_id, e.bytes, row_number() over w as n, sum(e.bytes) over w as total
    from entry e window w as (order by e.retry_id))
-- The first p_size events by retry_id contain the beginning of each of their groups.
select coalesce(array_agg(c.retry_id), '{}'), coalesce(sum(c.bytes), 0)::bigint
from counted c where c.n <= p_size and (c.total <= p_bytes or c.n = 1)
$$;
