-- queue.browse_events: returns up to p_limit events of a bus that match all conditions, in the order of their delivery.
-- Changes nothing. The first row has no event: its page and place are the end of the part that the call has examined,
-- or null if the bus has no more events. A call examines up to 20,000 events. It stops after the event with which the
-- data exceeds p_bytes bytes.
--   `p_page` and `p_place` are those of the last event, or of the first row, of the previous call, or null.
--   `p_from` and `p_to` bound the time of ingestion. Both belong to the range, and null bounds nothing.
--   `p_newest` is true for the newest events first.
create or replace function queue.browse_events(
    p_bus_arn text, p_page bigint, p_place int, p_from timestamptz, p_to timestamptz, p_newest boolean, p_group text,
    p_source text, p_detail_type text, p_limit int, p_bytes bigint)
returns table (page bigint, place int, number bigint, ingested_at timestamptz, event_id uuid, content_type smallint,
    data bytea, account_id text, group_id text, deduplication_id text, source text, detail_type text, metadata jsonb)
language plpgsql as $$
#variable_conflict use_column
declare
    v_sign int := case when p_newest then -1 else 1 end;
    v_bus_id bigint;
    v_from timestamptz;
    v_start bigint;
    v_end bigint;
    v_read record;
begin
    select b.bus_id, greatest(p_from, queue.read_window_start(b)) into v_bus_id, v_from
    from queue.event_bus b where b.arn = p_bus_arn;
    -- An event has a place only after its ingestion, so no earlier page has an event of the range.
    v_start := (
        select p.page from queue.event_page p where p.bus_id = v_bus_id and p.sequenced_at >= v_from
        order by p.sequenced_at, p.page limit 1);
    v_end := (select p.page from queue.event_page p where p.bus_id = v_bus_id order by p.page desc limit 1);
    if p_newest then
        v_end := least(v_end, p_page);
    else
        v_start := greatest(v_start, p_page);
    end if;
    select array_agg(t.page) as pages, min(t.first_at) as first_at, max(t.last_at) as last_at,
        max(t.page * v_sign) * v_sign as last_page
    into v_read
    from (
        select p.page, p.first_at, p.last_at, row_number() over w as n, sum(cardinality(p.numbers)) over w as events
        from (
            select * from queue.event_page x
            where x.bus_id = v_bus_id and x.page between v_start and v_end
            order by x.page * v_sign limit 20000) p
        window w as (order by p.page * v_sign)) t
    where t.n = 1 or t.events <= 20000;
    return query select case when v_read.last_page <> case when p_newest then v_start else v_end end
            then v_read.last_page end, case when p_newest then 0 else 2147483647 end, null::bigint, null::timestamptz,
        null::uuid, null::smallint, null::bytea, null::text, null::text, null::text, null::text, null::text,
        null::jsonb;
    -- With the times as constants, PostgreSQL reads and locks only the partitions of the pages.
    return query execute format(
        'select f.page, f.place, f.number, f.ingested_at, f.event_id, f.content_type, f.data, f.account_id, '
        'f.group_id, f.deduplication_id, f.source, f.detail_type, f.metadata from ('
            'select p.page, u.place::int, e.*, sum(octet_length(e.data)) over w - octet_length(e.data) as bytes '
            'from queue.event_page p cross join lateral unnest(p.numbers) with ordinality u(number, place) '
            'join queue.event e on e.number = u.number and e.ingested_at between %L and %L '
            'where p.bus_id = $1 and p.page = any ($2) '
                'and ($3 is null or (p.page, u.place) %s ($3, $4)) '
                'and e.ingested_at between $5 and coalesce($6, ''infinity'') and ($7 is null or e.group_id = $7) '
                'and ($8 is null or e.source = $8) and ($9 is null or e.detail_type = $9) '
            'window w as (order by p.page * $10, u.place * $10)) f '
        'where f.bytes < $11 order by f.page * $10, f.place * $10 limit $12',
        v_read.first_at, v_read.last_at, case when p_newest then '<' else '>' end)
    using v_bus_id, v_read.pages, p_page, p_place, v_from, p_to, p_group, p_source, p_detail_type, v_sign, p_bytes,
        p_limit;
end $$;
