-- queue.sequence_events: decides the order in which buses deliver events, for at most p_limit new runs. Returns the
-- number of events that received places. Returns 0 if another call is running, so a caller that needs all committed
-- events passes p_waits.
-- One statement reads the runs above the watermark and in the gaps, and adds them to the buses' pages. Lower blocks
-- of numbers that its snapshot does not see become gaps. One call inserts all events of a block, so a snapshot sees all
-- or none. If a transaction stays open, its events fill their gaps when it commits,
-- and receive places in later pages. Therefore an open transaction delays no other event, and publishers need no lock.
-- Two events keep the order of their numbers if the first was committed before the second was published, because each
-- snapshot that sees the second also sees the first.
-- This file also contains note_event_gaps, shrink_event_gaps, is_gap_over, set_event_watermark and
-- add_event_pages.
create or replace function queue.sequence_events(p_limit int, p_waits boolean default false) returns int
language plpgsql as $$
declare
    v_key bigint := queue.lock_key(10, 0, 0);
    v_had_xid boolean := pg_current_xact_id_if_assigned() is not null;
    v_watermark record;
    v_block bigint;
    v_gaps_since timestamptz;
    v_before pg_snapshot;
    v_top bigint;
    v_read record;
begin
    perform queue.require_read_committed();
    if p_waits then
        perform pg_advisory_xact_lock(v_key);
    elsif not pg_try_advisory_xact_lock(v_key) then
        return 0;
    end if;
    select w.number, w.since into v_watermark from queue.event_watermark w order by w.version desc limit 1;
    v_watermark.number := coalesce(v_watermark.number, 0);
    v_watermark.since := coalesce(v_watermark.since, '-infinity');
    v_block := v_watermark.number >> 10;
    v_gaps_since := (select min(g.since) from queue.event_gap g);
    v_before := pg_current_snapshot();
    v_top := coalesce(pg_sequence_last_value('queue.event_block'), 0);
    -- With the times as constants, PostgreSQL reads and locks only the newest partitions. The offset makes it look for
    -- the events of each gap by their numbers. Otherwise, PostgreSQL can read all events for each gap.
    execute 'select array_agg(s.number) as numbers, array_agg(s.bus_id) as buses, array_agg(s.ingested_at) as times, '
        'array_agg(s.run_events) as counts, array_agg(s.run_bytes) as sizes, sum(s.run_events) as events, '
        'count(*) filter (where s.number > $1) as count, '
        'max(s.number + s.run_events - 1) filter (where s.number > $1) as last, '
        'count(*) filter (where s.number > $1 and s.number & 1023 = 0) as blocks, '
        'min(s.ingested_at) filter (where s.number > $1) as new_at, pg_current_snapshot() as snapshot from ('
        || format('(select e.number, e.bus_id, e.ingested_at, e.run_events, e.run_bytes from queue.event e '
            'where e.run_events is not null and e.number > $1 and e.ingested_at > %L order by e.number limit $2)',
            v_watermark.since)
        || case when v_gaps_since is null then '' else
            format('union all (select e.* from queue.event_gap g cross join lateral ('
                'select e.number, e.bus_id, e.ingested_at, e.run_events, e.run_bytes from queue.event e '
                'where e.run_events is not null and e.ingested_at > %L '
                'and e.number >= g.first_block << 10 and e.number < (g.last_block + 1) << 10 offset 0) e) '
                'order by number', v_gaps_since) end
        || ') s'
    into v_read using v_watermark.number, p_limit;
    if v_gaps_since is not null then
        perform queue.shrink_event_gaps(v_read.numbers, v_before);
        if not v_had_xid then
            update queue.event_gap g set snapshot = v_read.snapshot, last_xid = pg_current_xact_id()
            where g.last_xid is null;
        end if;
    end if;
    if v_read.count > 0 then
        -- A number above `last` was taken after it, so its event is not older, apart from the duration of a call.
        perform queue.set_event_watermark(v_read.last, v_read.new_at);
        v_top := v_read.last >> 10;
    elsif v_top > v_block then
        perform queue.set_event_watermark((v_top << 10) + 1023, clock_timestamp());
    end if;
    -- A block without its first event is a gap, or that event was a duplicate.
    if v_top - v_block > v_read.blocks then
        perform queue.note_event_gaps(
            v_read.numbers, v_watermark.number, v_top, v_watermark.since, v_read.snapshot, v_had_xid);
    end if;
    if v_read.numbers is not null then
        perform queue.add_event_pages(v_read.numbers, v_read.buses, v_read.times, v_read.counts, v_read.sizes);
    end if;
    return coalesce(v_read.events, 0);
end $$;

-- queue.note_event_gaps: stores the blocks after that of p_after, up to the block p_until, of which p_numbers has none.
--   `p_snapshot` is the snapshot that did not see them.
--   `p_had_xid` is true if the transaction received its id before it read the numbers.
-- A publisher receives its transaction id before it takes a number. A transaction id that this transaction receives
-- after its read is therefore greater than the ids of all transactions that can fill the gaps. If this transaction has
-- an older id, last_xid stays null until a later call stores its own.
create or replace function queue.note_event_gaps(
    p_numbers bigint[], p_after bigint, p_until bigint, p_since timestamptz, p_snapshot pg_snapshot,
    p_had_xid boolean)
returns void
language plpgsql as $$
declare
    v_xid xid8 := case when not p_had_xid then pg_current_xact_id() end;
begin
    insert into queue.event_gap (first_block, last_block, snapshot, last_xid, since)
    select g.first_block, g.last_block, p_snapshot, v_xid, p_since
    from (select lag(u.block, 1, p_after >> 10) over (order by u.block) + 1 as first_block, u.block - 1 as last_block
        from (select distinct n >> 10 from unnest(p_numbers) n where n > p_after union all select p_until + 1) u(block)
    ) g
    where g.first_block <= g.last_block;
end $$;

-- queue.shrink_event_gaps: removes from the gaps the blocks of p_numbers, and the blocks that no transaction can fill.
--   `p_before` is a snapshot that is older than the read of p_numbers, so the read saw all events of the transactions
--     that had ended before it.
create or replace function queue.shrink_event_gaps(p_numbers bigint[], p_before pg_snapshot) returns void
language plpgsql as $$
declare
    v_gap record;
    v_blocks bigint[];
    v_is_over boolean;
begin
    for v_gap in select g.* from queue.event_gap g order by g.first_block loop
        v_is_over := queue.is_gap_over(v_gap.snapshot, v_gap.last_xid, p_before);
        v_blocks := array(
            select distinct n >> 10 from unnest(p_numbers) n
            where n >> 10 between v_gap.first_block and v_gap.last_block order by 1);
        continue when v_blocks = '{}' and not v_is_over;
        delete from queue.event_gap g where g.first_block = v_gap.first_block;
        insert into queue.event_gap (first_block, last_block, snapshot, last_xid, since)
        select r.first_block, r.last_block, v_gap.snapshot, v_gap.last_xid, v_gap.since
        from (select lag(u.block, 1, v_gap.first_block - 1) over (order by u.block) + 1 as first_block,
                u.block - 1 as last_block
            from unnest(v_blocks || (v_gap.last_block + 1)) u(block)) r
        where not v_is_over and r.first_block <= r.last_block;
    end loop;
end $$;

-- queue.is_gap_over: returns whether all transactions that could fill a gap had ended before p_now. These are the
-- transactions that were open in p_snapshot, and those with ids between its end and p_last_xid. A snapshot does not
-- list an open transaction that is younger than all completed ones.
create or replace function queue.is_gap_over(p_snapshot pg_snapshot, p_last_xid xid8, p_now pg_snapshot)
returns boolean
language sql immutable
return p_last_xid is not null and not exists (
    select from (
        select x from pg_snapshot_xip(p_snapshot) x
        union all
        select n::text::xid8 from generate_series(
            pg_snapshot_xmax(p_snapshot)::text::bigint, p_last_xid::text::bigint - 1) n) o(xid)
    where not pg_visible_in_snapshot(o.xid, p_now));

-- queue.set_event_watermark: stores the last number up to which sequence_events has read.
--   `p_at` is the earliest time at which an event with a later number can have been ingested, apart from the duration
--     of a call.
create or replace function queue.set_event_watermark(p_number bigint, p_at timestamptz) returns void
language plpgsql as $$
begin
    delete from queue.event_watermark;
    insert into queue.event_watermark (number, since) values (p_number, p_at - interval '1 day');
end $$;

-- queue.add_event_pages: appends the events of runs to the pages of their buses, in the order of their numbers. A page
-- has at most 200 events and about 1 MiB, or one event. A worker reads whole pages, so a page is short enough for a
-- slice of a replay. Ignores events of deleted buses.
--   `p_numbers` has the first number of each run, in ascending order. `p_counts` and `p_sizes` have the number of its
--     events and the bytes of their data. The events of a run count as equally long.
-- The windows have rows of runs, because the rows of events would cost more than half of the call.
create or replace function queue.add_event_pages(
    p_numbers bigint[], p_buses bigint[], p_times timestamptz[], p_counts int[], p_sizes int[])
returns void
language plpgsql as $$
begin
    with run as (
        select r.*, sum(r.events) over w - r.events as events_before, sum(r.bytes) over w - r.bytes as bytes_before
        from unnest(p_numbers, p_buses, p_times, p_counts, p_sizes) r(number, bus_id, ingested_at, events, bytes)
        window w as (partition by r.bus_id order by r.number)),
    part as (
        select r.bus_id, min(r.ingested_at) as first_at, max(r.ingested_at) as last_at,
            sum((r.bytes::bigint * (i + 1) / r.events - r.bytes::bigint * i / r.events)::int) as bytes,
            array_agg(r.number + i order by r.number + i) as numbers
        from run r cross join lateral generate_series(0, r.events - 1) i
        group by r.bus_id, (r.events_before + i) / 200, (r.bytes_before + r.bytes::bigint * (i + 1) / r.events) >> 20)
    insert into queue.event_page (bus_id, page, sequenced_at, first_at, last_at, events_before, bytes, bytes_before,
        numbers)
    select p.bus_id, coalesce(l.page, 0) + row_number() over w, greatest(l.sequenced_at, clock_timestamp()),
        p.first_at, p.last_at,
        coalesce(l.events, 0) + sum(cardinality(p.numbers)) over w - cardinality(p.numbers), p.bytes,
        coalesce(l.bytes, 0) + sum(p.bytes) over w - p.bytes, p.numbers
    from part p join queue.event_bus b on b.bus_id = p.bus_id left join lateral (
        select x.page, x.sequenced_at, x.events_before + cardinality(x.numbers) as events,
            x.bytes_before + x.bytes as bytes
        from queue.event_page x where x.bus_id = p.bus_id order by x.page desc limit 1) l on true
    window w as (partition by p.bus_id order by p.numbers[1]);
end $$;
