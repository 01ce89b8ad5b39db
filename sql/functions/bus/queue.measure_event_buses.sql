-- queue.measure_event_buses: stores measurements of event buses and subscribers in queue.reading, and deletes those of
-- deleted ones. A label is the ARN of a bus, or the ARNs of a bus and a subscriber with a space between them. Measures
-- at most 100 buses, and 100 subscribers of each, in the order of their ARNs.
create or replace function queue.measure_event_buses() returns void
language plpgsql as $$
begin
    with buses as materialized (
        select o.*, o.bus ->> 'arn' as arn
        from (select distinct b.account_id, b.region from queue.event_bus b limit 100) a
        cross join lateral queue.observe_event_buses(a.account_id, a.region, null, null, 100) o
        order by o.bus ->> 'arn' limit 100),
    subscribers as materialized (
        select o.*, b.arn || ' ' || (o.subscriber ->> 'arn') as label
        from buses b cross join lateral queue.observe_event_subscribers(b.arn, null, null, null, 100) o),
    found as (
        select v.name, b.arn as label, v.value
        from buses b cross join lateral (values
            ('bus_published', b.published::double precision), ('bus_events', b.events), ('bus_bytes', b.bytes),
            ('bus_subscribers', b.subscribers)) v (name, value)
        union all
        select v.name, s.label, v.value
        from subscribers s cross join lateral (values
            ('subscriber_delivered', s.delivered::double precision), ('subscriber_refused', s.refused),
            ('subscriber_failed', s.failed), ('subscriber_waiting', s.waiting), ('subscriber_lag', s.lag_events),
            ('subscriber_lag_seconds',
                coalesce(greatest(0, extract(epoch from clock_timestamp() - s.lag_since)), 0))) v (name, value)),
    gone as (
        delete from queue.reading r
        where (starts_with(r.name, 'bus_') or starts_with(r.name, 'subscriber_'))
            and not exists (select from found f where f.name = r.name and f.label = r.label))
    insert into queue.reading (name, label, value) select f.name, f.label, f.value from found f
    on conflict (name, label) do update set value = excluded.value;
end $$;
