-- queue.sequence_events: decides the order in which buses deliver events, for at most p_limit events that were
-- committed since the last call. Returns the number of events. Returns 0 if another call is running, so a caller that
-- needs all committed events passes p_waits.
-- The call reads the numbers above the watermark once, with one snapshot, and adds them to the buses' pages. Lower
-- numbers that this snapshot does not see become gaps. A transaction commits its events late if it stays open. Its
-- events fill their gap and receive places in later pages. Therefore an open transaction delays no other event, and
-- needs no lock. Two events keep the order of their numbers if the first was committed before the second was published,
-- because each snapshot that sees the second also sees the first.
-- This file also contains fill_event_gaps and add_event_pages.
create or replace function queue.sequence_events(p_limit int, p_waits boolean default false) returns int
language plpgsql as $$
declare
    v_key bigint := queue.lock_key(10, 0, 0);
    v_watermark record;
    v_numbers bigint[];
    v_count int := 0;
    v_last bigint;
    v_first_at timestamptz;
    v_snapshot pg_snapshot;
begin
    perform queue.require_read_committed();
    if p_waits then
        perform pg_advisory_xact_lock(v_key);
    elsif not pg_try_advisory_xact_lock(v_key) then
        return 0;
    end if;
    v_count := queue.fill_event_gaps();
    select w.number, w.since, w.version into v_watermark from queue.event_watermark w order by w.version desc limit 1;
    v_watermark.number := coalesce(v_watermark.number, 0);
    -- With the time as a constant, PostgreSQL reads and locks only the newest partitions.
    execute format('select array_agg(s.number), max(s.number), min(s.ingested_at), pg_current_snapshot() from ('
            'select e.number, e.ingested_at from queue.event e where e.number > $1 and e.ingested_at > %L '
            'order by e.number limit $2) s', coalesce(v_watermark.since, '-infinity'))
    into v_numbers, v_last, v_first_at, v_snapshot using v_watermark.number, p_limit;
    if v_numbers is null then
        return v_count;
    end if;
    if v_last - v_watermark.number > cardinality(v_numbers) then
        insert into queue.event_gap (first_number, last_number, snapshot, since, noted_at)
        select g.first_number, g.last_number, v_snapshot, coalesce(v_watermark.since, '-infinity'), clock_timestamp()
        from (select lag(u.number, 1, v_watermark.number) over (order by u.number) + 1 as first_number,
                u.number - 1 as last_number
            from unnest(v_numbers) u(number)) g
        where g.first_number <= g.last_number;
    end if;
    perform queue.add_event_pages(v_numbers, v_first_at);
    delete from queue.event_watermark w where w.version <= v_watermark.version;
    -- A number above v_last was taken after v_last, so its event is not older, apart from the duration of a call.
    insert into queue.event_watermark (number, since) values (v_last, v_first_at - interval '1 day');
    return v_count + cardinality(v_numbers);
end $$;

-- queue.fill_event_gaps: adds the events that were committed in gaps to pages. Returns their number. Deletes a gap if
-- no transaction can fill it. Reads older gaps at most once a second, because the gaps of rolled-back transactions stay
-- until all transactions that were open with them have ended.
create or replace function queue.fill_event_gaps() returns int
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_snapshot pg_snapshot := pg_current_snapshot();
    v_gap record;
    v_numbers bigint[];
    v_found bigint[] := '{}';
    v_first_at timestamptz := 'infinity';
    v_at timestamptz;
begin
    for v_gap in
        select g.*,
            not exists (select from pg_snapshot_xip(g.snapshot) x(xid)
                where not pg_visible_in_snapshot(x.xid, v_snapshot)) as is_over
        from queue.event_gap g
        where g.checked_at < v_now - case when g.noted_at > v_now - interval '2 seconds' then interval '0'
            else interval '1 second' end
        order by g.first_number
    loop
        -- This statement's snapshot is newer than v_snapshot, so it sees all events of transactions that were over.
        execute format('select array_agg(e.number order by e.number), min(e.ingested_at) from queue.event e '
            'where e.number between $1 and $2 and e.ingested_at > %L',
            case when v_gap.is_over then '-infinity' else v_gap.since end)
        into v_numbers, v_at using v_gap.first_number, v_gap.last_number;
        if v_gap.is_over or v_numbers is not null then
            delete from queue.event_gap g where g.first_number = v_gap.first_number;
            insert into queue.event_gap (first_number, last_number, snapshot, since, noted_at, checked_at)
            select r.first_number, r.last_number, v_gap.snapshot, v_gap.since, v_gap.noted_at, v_now
            from (select lag(u.number, 1, v_gap.first_number - 1) over (order by u.number) + 1 as first_number,
                    u.number - 1 as last_number
                from unnest(v_numbers || (v_gap.last_number + 1)) u(number)) r
            where not v_gap.is_over and r.first_number <= r.last_number;
            v_found := v_found || v_numbers;
            v_first_at := least(v_first_at, v_at);
        else
            update queue.event_gap g set checked_at = v_now where g.first_number = v_gap.first_number;
        end if;
    end loop;
    if v_found <> '{}' then
        perform queue.add_event_pages(v_found, v_first_at);
    end if;
    return cardinality(v_found);
end $$;

-- queue.add_event_pages: appends events to the pages of their buses, in the order of their numbers. A page has at most
-- 1,000 events and about 8 MiB, so that a worker can read it at once. Ignores events of deleted buses.
--   `p_since` is the earliest ingested_at of the events.
create or replace function queue.add_event_pages(p_numbers bigint[], p_since timestamptz) returns void
language plpgsql as $$
begin
    execute format('with entry as ('
            'select e.bus_id, e.number, e.ingested_at, octet_length(e.data) as bytes, '
            '(row_number() over w - 1) / 1000 as thousand, (sum(octet_length(e.data)) over w) >> 23 as size '
            'from queue.event e where e.number = any ($1) and e.ingested_at >= %L '
            'window w as (partition by e.bus_id order by e.number)), '
        'part as ('
            'select e.bus_id, min(e.ingested_at) as first_at, max(e.ingested_at) as last_at, '
            'sum(e.bytes) as bytes, '
            'array_agg(e.number order by e.number) as numbers '
            'from entry e group by e.bus_id, e.thousand, e.size) '
        'insert into queue.event_page (bus_id, page, sequenced_at, first_at, last_at, events_before, bytes, '
            'numbers) '
        'select p.bus_id, coalesce(l.page, 0) + row_number() over w, greatest(l.sequenced_at, clock_timestamp()), '
            'p.first_at, p.last_at, '
            'coalesce(l.events, 0) + sum(cardinality(p.numbers)) over w - cardinality(p.numbers), p.bytes, '
            'p.numbers '
        'from part p join queue.event_bus b on b.bus_id = p.bus_id left join lateral ('
            'select x.page, x.sequenced_at, x.events_before + cardinality(x.numbers) as events '
            'from queue.event_page x where x.bus_id = p.bus_id order by x.page desc limit 1) l on true '
        'window w as (partition by p.bus_id order by p.numbers[1])', p_since)
    using p_numbers;
end $$;
