-- Functions that the functions of event buses share.

-- queue.retention_class: returns the days after which the partition of a bus's events is dropped. Buses with similar
-- retention periods share partitions.
create or replace function queue.retention_class(p_days int) returns smallint
language sql immutable parallel safe
return case when p_days <= 32 then (2 ^ ceil(log(2, p_days)))::smallint
    when p_days <= 64 then 64 when p_days <= 128 then 128 else 365 end;

-- queue.wake_event_delivery: wakes, at commit, a worker that waits for events. Costs one index probe if no worker
-- waits.
create or replace function queue.wake_event_delivery() returns void
language sql as $$
select queue.notify_watchers(-1, 'events')
$$;

-- queue.event_periods: returns the periods of a retention class's partitions that begin before p_until, from the period
-- of p_from on. A period is a day (UTC), or a week if the class has more than 32 days.
create or replace function queue.event_periods(p_class int, p_from timestamptz, p_until timestamptz)
returns table (starts_at timestamptz, ends_at timestamptz)
language sql immutable parallel safe as $$
select d at time zone 'utc', (d + k.length) at time zone 'utc'
from (select case when p_class > 32 then interval '7 days' else interval '1 day' end as length,
        case when p_class > 32 then 'week' else 'day' end as name) k
cross join lateral generate_series(
    date_trunc(k.name, p_from at time zone 'utc'), p_until at time zone 'utc', k.length) d
$$;

-- queue.add_event_partitions: creates the partitions of a retention class for the present and the next two days. Has no
-- effect on periods that already have a partition, or whose events are in the default partition. If another worker
-- interferes or the default partition stays locked, the next run tries again. Locks the default partition. Runs with
-- the rights of its owner, which owns the table.
create or replace function queue.add_event_partitions(p_class int) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
    v_period record;
    v_part text;
    v_taken boolean;
begin
    for v_period in select * from queue.event_periods(p_class, now(), now() + interval '2 days') loop
        v_part := format('event_%s_%s', p_class, to_char(v_period.starts_at at time zone 'utc', 'YYYYMMDD'));
        continue when to_regclass('queue.' || v_part) is not null;
        execute 'select exists (select from queue.event_default e '
            'where e.retention_class = $1 and e.ingested_at >= $2 and e.ingested_at < $3)'
        into v_taken using p_class, v_period.starts_at, v_period.ends_at;
        continue when v_taken;
        execute format('create table queue.%I partition of queue.event for values from (%s, %L) to (%s, %L)',
            v_part, p_class, v_period.starts_at, p_class, v_period.ends_at);
    end loop;
exception when check_violation or unique_violation or duplicate_table or lock_not_available then
    null;
end $$;
