-- queue.put_events: publishes events on an event bus inside the caller's transaction. A commit publishes all events,
-- and a rollback none. Returns the id and the sequence number of each event, in the order of the array. A duplicate has
-- the values of the original.
--   `bus` is the name of a bus of the caller's account, or an ARN.
--   `events` is an array of 1 to 100 entries with the members of PutEvents (Source, DetailType, Detail, Resources,
--     Time, SystemMetadata) or of PutRawEvents (Data, Metadata, SystemMetadata). Detail is an object, and Data any JSON
--     value.
-- A subscriber receives an event after all events of its group that were committed before its publication. An open
-- transaction delays no other event. Raises QU001 if the bus does not exist, and QU003 if an entry is not allowed. SQL
-- interface.
-- This file also contains read_event_entry.
create or replace function queue.put_events(bus text, events jsonb)
returns table (event_id uuid, sequence_number numeric)
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
#variable_conflict use_column
declare
    v_bus record;
    v_ids uuid[];
    v_types smallint[];
    v_data bytea[];
    v_metadata jsonb[];
    v_sources text[];
    v_details text[];
    v_groups text[];
    v_deduplication_ids text[];
begin
    if current_setting('max_prepared_transactions') <> '0' then
        perform queue.guard_prepare();
    end if;
    select b.arn, c.account_id, c.region into v_bus
    from queue.caller_account() c
    join queue.event_bus b on b.arn = put_events.bus
        or (b.account_id = c.account_id and b.region = c.region and b.name = put_events.bus)
    where b.account_id = c.account_id or not c.is_bound;
    if not found then
        raise exception 'the event bus % does not exist', bus using errcode = 'QU001';
    end if;
    if jsonb_typeof(events) is distinct from 'array' or jsonb_array_length(events) not between 1 and 100 then
        raise exception 'events is an array of 1 to 100 entries' using errcode = 'QU003';
    end if;
    select array_agg(e.id order by u.n), array_agg(e.content_type order by u.n), array_agg(e.data order by u.n),
        array_agg(u.entry -> 'Metadata' order by u.n), array_agg(u.entry ->> 'Source' order by u.n),
        array_agg(u.entry ->> 'DetailType' order by u.n),
        array_agg(u.entry -> 'SystemMetadata' ->> 'EventGroupId' order by u.n),
        array_agg(u.entry -> 'SystemMetadata' ->> 'DeduplicationId' order by u.n)
    into v_ids, v_types, v_data, v_metadata, v_sources, v_details, v_groups, v_deduplication_ids
    from jsonb_array_elements(events) with ordinality u(entry, n)
    cross join lateral queue.read_event_entry(u.entry, u.n::int, v_bus.account_id, v_bus.region) e;
    if (select sum(octet_length(d)) from unnest(v_data) d) > 1048576 then
        raise exception 'the events of a call have at most 1048576 bytes together' using errcode = 'QU003';
    end if;
    return query
    select coalesce(p.originals[u.n], v_ids[u.n]), 10000000000000000000 + p.numbers[u.n]
    from queue.put_bus_events(
        p_bus => v_bus.arn, p_account => v_bus.account_id, p_event_ids => v_ids, p_content_types => v_types,
        p_data => v_data, p_metadata => v_metadata, p_sources => v_sources, p_detail_types => v_details,
        p_groups => v_groups,
        p_deduplication_ids => case when array_remove(v_deduplication_ids, null) <> '{}'
            then v_deduplication_ids end, p_is_application => true) p
    cross join generate_series(1, cardinality(v_ids)) u(n)
    order by u.n;
end $$;

-- queue.read_event_entry: checks an entry of put_events, and returns its data with a new event id. An entry of
-- PutEvents becomes the envelope that all subscribers receive ("Events", EventBridge User Guide). Raises QU003.
--   `p_n` is the position of the entry, for the error.
create or replace function queue.read_event_entry(
    p_entry jsonb, p_n int, p_account text, p_region text, out id uuid, out content_type smallint, out data bytea)
language plpgsql as $$
declare
    v_problem text := case
        when jsonb_typeof(p_entry) is distinct from 'object' then 'is an object'
        when p_entry - array['Source', 'DetailType', 'Detail', 'Resources', 'Time', 'Data', 'Metadata',
            'SystemMetadata'] <> '{}' then
            'has only the members Source, DetailType, Detail, Resources, Time, Data, Metadata and SystemMetadata'
        when (p_entry ? 'Data') = (p_entry ? 'Source') then 'has either Source or Data'
        when jsonb_typeof(coalesce(p_entry -> 'SystemMetadata', '{}')) <> 'object' then
            'has an object as SystemMetadata'
        when (p_entry -> 'SystemMetadata') - array['EventGroupId', 'DeduplicationId'] <> '{}'
            or jsonb_typeof(p_entry -> 'SystemMetadata' -> 'EventGroupId') <> 'string'
            or jsonb_typeof(p_entry -> 'SystemMetadata' -> 'DeduplicationId') <> 'string'
            or length(p_entry -> 'SystemMetadata' ->> 'EventGroupId') not between 1 and 128
            or length(p_entry -> 'SystemMetadata' ->> 'DeduplicationId') not between 1 and 128 then
            'has an EventGroupId and a DeduplicationId of 1 to 128 characters in SystemMetadata'
        when p_entry ? 'Data' then case
            when p_entry ?| array['DetailType', 'Detail', 'Resources', 'Time'] then 'has only Data and metadata'
            when jsonb_typeof(coalesce(p_entry -> 'Metadata', '{}')) <> 'object' then 'has an object as Metadata' end
        when jsonb_typeof(p_entry -> 'Source') <> 'string' or length(p_entry ->> 'Source') not between 1 and 256
            or starts_with(p_entry ->> 'Source', 'aws.') then
            'has a Source of 1 to 256 characters that does not begin with aws.'
        when jsonb_typeof(p_entry -> 'DetailType') is distinct from 'string'
            or length(p_entry ->> 'DetailType') not between 1 and 128 then 'has a DetailType of 1 to 128 characters'
        when jsonb_typeof(coalesce(p_entry -> 'Detail', '{}')) <> 'object' then 'has an object as Detail'
        when jsonb_typeof(coalesce(p_entry -> 'Resources', '[]')) <> 'array' then 'has an array as Resources'
        when p_entry ? 'Metadata' then 'has no Metadata if it has a Source' end;
    v_time timestamptz;
begin
    if v_problem is null and p_entry ? 'Metadata' and exists (
        select from jsonb_each(p_entry -> 'Metadata') m
        where jsonb_typeof(m.value) <> 'string' or m.value = '""'
            or length(m.key) not between 1 and 128 or strpos(m.key, '/') > 0) then
        v_problem := 'has texts as Metadata, under keys of 1 to 128 characters without /';
    end if;
    if v_problem is not null then
        raise exception 'entry %: an event %', p_n, v_problem using errcode = 'QU003';
    end if;
    id := gen_random_uuid();
    if p_entry ? 'Data' then
        content_type := 1;
        data := convert_to((p_entry -> 'Data')::text, 'UTF8');
        return;
    end if;
    if p_entry ? 'Time' then
        begin
            v_time := p_entry ->> 'Time';
        exception when invalid_datetime_format or datetime_field_overflow then
            raise exception 'entry %: an event has a time as Time', p_n using errcode = 'QU003';
        end;
    end if;
    content_type := 0;
    data := convert_to(json_build_object('version', '0', 'id', id, 'detail-type', p_entry -> 'DetailType',
        'source', p_entry -> 'Source', 'account', p_account, 'time',
        to_char(coalesce(v_time, clock_timestamp()) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'region', p_region, 'resources', coalesce(p_entry -> 'Resources', '[]'),
        'detail', coalesce(p_entry -> 'Detail', '{}'))::text, 'UTF8');
end $$;
