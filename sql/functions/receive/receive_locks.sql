-- Locks and redeliveries of receives.

-- queue.add_redelivery: returns the times of a message's later receives, with one time added. The array keeps the first
-- 100 times, so minutes that are already counted do not change. The receive count of a message contains the total.
-- PostgreSQL inlines this function.
create or replace function queue.add_redelivery(p_times timestamptz[], p_at timestamptz) returns timestamptz[]
language sql immutable parallel safe
return case when cardinality(p_times) >= 100 then p_times else p_times || p_at end;

-- queue.lock_reader_briefly: makes this transaction the reader of a shard. Returns false if another transaction stays
-- the reader for a quarter of a second. A transaction that reads for so long belongs to an application, because the
-- service's receives are shorter. Locks the reader until the end of the transaction.
create or replace function queue.lock_reader_briefly(p_key bigint) returns boolean
language plpgsql set lock_timeout = '250ms' as $$
begin
    perform pg_advisory_xact_lock(p_key);
    return true;
exception when lock_not_available then
    return false;
end $$;

-- queue.deferred_groups: returns the groups whose deferred messages still wait. Costs one index probe of deferred_pkey
-- for each group.
create or replace function queue.deferred_groups(p_queue_id int) returns table (group_id text)
language sql stable as $$
with recursive found as (
    select (select d.group_id from queue.deferred d where d.queue_id = p_queue_id order by d.group_id limit 1)
    union all
    select (select d.group_id from queue.deferred d where d.queue_id = p_queue_id and d.group_id > f.group_id
            order by d.group_id limit 1)
    from found f where f.group_id is not null)
select f.group_id from found f where f.group_id is not null
$$;

-- queue.note_receivers: stores the receivers that a process has seen since its last call. Returns the number of rows.
-- Each receiver of a queue has an element in each array. Ignores receivers of deleted queues. Locks rows of
-- queue.receiver in their order.
create or replace function queue.note_receivers(
    p_arns text[], p_callers text[], p_agents text[], p_addresses text[], p_last_at timestamptz[], p_received bigint[])
returns table (noted int)
language sql as $$
with noted as (
insert into queue.receiver as r (queue_id, caller, agent, address, first_at, last_at, received)
select q.queue_id, u.caller, u.agent, u.address, min(u.last_at), max(u.last_at), sum(u.received)
from unnest(p_arns, p_callers, p_agents, p_addresses, p_last_at, p_received)
    u(arn, caller, agent, address, last_at, received)
join queue.queues q on q.arn = u.arn
group by 1, 2, 3, 4 order by 1, 2, 3, 4
on conflict (queue_id, caller, agent, address) do update
set last_at = greatest(r.last_at, excluded.last_at), received = r.received + excluded.received
returning 1)
select count(*)::int from noted
$$;

-- queue.list_receivers: returns the receivers of a queue in the last day, the latest first. Times are in milliseconds
-- since 1970.
create or replace function queue.list_receivers(p_arn text, p_limit int)
returns table (caller text, agent text, address text, first_at_ms bigint, last_at_ms bigint, received bigint)
language sql stable as $$
select r.caller, r.agent, r.address, queue.epoch_ms(r.first_at), queue.epoch_ms(r.last_at), r.received
from queue.receiver r
where r.queue_id = (select q.queue_id from queue.queues q where q.arn = p_arn)
order by r.last_at desc, r.caller, r.agent, r.address limit p_limit
$$;

-- queue.ready_shards: returns the shards with messages to receive now. The shards that have waited longest come first,
-- so no shard starves and messages are roughly in order. Takes no lock, so the caller checks again under the shard's
-- lock. The current time is the parameter p_now, because a volatile clock cannot be the condition of an index search.
-- Is declared STABLE, so PostgreSQL inlines this function. A new statement sees the newest rows. Uses the indexes
-- lease_pkey, log_pkey and lease_visible_at.
create or replace function queue.ready_shards(p_queue_id int, p_shards int, p_now timestamptz)
returns table (shard int, since timestamptz)
language sql stable as $$
select s.shard, least(fresh.sent_at, expired.visible_at)
from generate_series(0, p_shards - 1) s(shard)
cross join lateral (
    select c.pos, c.watermark from queue.lease c
    where c.queue_id = p_queue_id and c.shard = s.shard
    order by c.pos desc limit 1) cursor
left join lateral (
    select l.sent_at from queue.log l
    where l.queue_id = p_queue_id and l.shard = s.shard and l.id > cursor.pos
    order by l.id limit 1) fresh on true
left join lateral (
    select x.visible_at from queue.lease x
    where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, s.shard) and x.visible_at > cursor.watermark
        and x.visible_at <= p_now and x.ids <> '{}'
    order by x.visible_at limit 1) expired on true
where fresh.sent_at is not null or expired.visible_at is not null
order by 2
$$;
