-- queue.maintain_events: creates the partitions of queue.event for the next days, drops partitions whose retention is
-- over, and removes rows of deleted and expired resources. Returns the number of removed rows,
-- without the rows of dropped partitions.
--   `p_limit` is the maximum number of rows of each table.
-- This file also contains clean_event_pages, expired_event_partitions and drop_event_partitions.
create or replace function queue.maintain_events(p_limit int) returns bigint
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_removed bigint := 0;
    v_rows bigint;
    v_can_drop boolean;
begin
    -- This comes first, because no publisher may wait for a row that this transaction has deleted, while it waits.
    v_can_drop := queue.lock_out_vacuum(queue.expired_event_partitions());
    -- The default partition has events only if no partition could be created in time.
    delete from queue.event_default e where e.ctid = any (array(
        select d.ctid from queue.event_default d where d.ingested_at < v_now - make_interval(days => d.retention_class)
        limit p_limit for update skip locked));
    get diagnostics v_removed = row_count;
    delete from queue.event_deduplication d where d.ctid = any (array(
        select x.ctid from queue.event_deduplication x where x.expires_at <= v_now
        order by x.expires_at limit p_limit for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows + queue.clean_event_pages(p_limit);
    delete from queue.event_retry r where r.ctid = any (array(
        select x.ctid from queue.event_retry x
        where not exists (select from queue.event_subscriber s where s.subscriber_id = x.subscriber_id)
        limit p_limit for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    -- A delivery can store the cursor of a subscriber that is deleted at that moment.
    delete from queue.event_cursor c where c.ctid = any (array(
        select x.ctid from queue.event_cursor x
        where not exists (select from queue.event_bus b where b.bus_id = x.bus_id)
            or (x.subscriber_id <> 0 and not exists (
                select from queue.event_subscriber s where s.subscriber_id = x.subscriber_id))
        limit p_limit for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    delete from queue.event_outcome o where o.ctid = any (array(
        select x.ctid from queue.event_outcome x
        where not exists (select from queue.event_subscriber s where s.subscriber_id = x.subscriber_id)
        limit p_limit for update skip locked));
    get diagnostics v_rows = row_count;
    -- Both lock queue.event until the end of the transaction, so they come last.
    if v_can_drop then
        perform queue.drop_event_partitions();
    end if;
    perform queue.add_event_partitions(c.class)
    from (select distinct queue.retention_class(b.retention_days) as class from queue.event_bus b) c;
    return v_removed + v_rows;
end $$;

-- queue.clean_event_pages: removes up to p_limit pages whose events no bus retains, and pages of deleted buses. Returns
-- the number of removed pages. The last page of a bus stays, because its number continues.
create or replace function queue.clean_event_pages(p_limit int) returns bigint
language plpgsql as $$
declare
    v_removed bigint;
begin
    with bus as (
        select b.bus_id, queue.retention_class(b.retention_days) as days, (
            select p.page from queue.event_page p where p.bus_id = b.bus_id order by p.page desc limit 1) as last_page
        from queue.event_bus b)
    delete from queue.event_page p where p.ctid = any (array(
        (select x.ctid from bus b cross join lateral (
            select o.ctid from queue.event_page o
            where o.bus_id = b.bus_id and o.page < b.last_page
                and o.sequenced_at < (select clock_timestamp()) - make_interval(days => b.days + 1)
            order by o.sequenced_at limit p_limit) x limit p_limit)
        union all
        (select x.ctid from queue.event_page x
        where not exists (select from queue.event_bus b where b.bus_id = x.bus_id) limit p_limit)));
    get diagnostics v_removed = row_count;
    return v_removed;
end $$;

-- queue.expired_event_partitions: returns the names of the partitions whose class's retention period is over.
create or replace function queue.expired_event_partitions() returns text[]
language sql stable
return array(
    select k.name
    from (select c.relname::text as name, regexp_match(c.relname, '^event_([0-9]+)_([0-9]{8})$') as parts
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = to_regclass('queue.event')) k
    cross join lateral (
        select e.ends_at from queue.event_periods(k.parts[1]::int, (k.parts[2]::date)::timestamp at time zone 'utc',
            (k.parts[2]::date)::timestamp at time zone 'utc') e) p
    where k.parts is not null and p.ends_at < now() - make_interval(days => k.parts[1]::int)
    order by k.name);

-- queue.drop_event_partitions: drops the partitions whose class's retention period is over. A drop locks queue.event,
-- and every publication waits for it. It therefore gives up after 200 ms without the lock, and the next run tries
-- again. Runs with the rights of its owner, which owns the table.
create or replace function queue.drop_event_partitions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
    v_partition text;
begin
    foreach v_partition in array queue.expired_event_partitions() loop
        execute format('drop table queue.%I', v_partition);
    end loop;
exception when lock_not_available then
    null;
end $$;
