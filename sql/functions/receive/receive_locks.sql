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
