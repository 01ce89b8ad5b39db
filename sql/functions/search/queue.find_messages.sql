-- queue.find_messages: returns the messages of a queue that match a filter, without receiving them.
--   `p_now` is the time after which the scan ignores new messages.
--   `p_after` is the place after which the scan starts. Null means the beginning.
--   `p_limit` is the number of matching messages after which the scan stops.
--   `p_scan` is the number of examined messages after which the scan stops. The scan also stops after 64 MiB of bodies.
--   `p_bytes` is the size of matching messages after which the scan stops. Null means no limit.
--   `p_shapes` is true if the function returns the shape of each message (md5 of body_shape).
--   `p_seconds` is the approximate time after which the scan stops.
-- `p_filter` has optional members:
--   `states` contains visible, in_flight or delayed.
--   `text` is a text that the body contains, in the same case.
--   `json` is {path: [name, …], equals: value}.
--   `attribute` is {name, equals: its text (absent: any)}.
--   `group_id` is the message group.
--   `older_than_seconds` and `newer_than_seconds` count from the time at which the message entered this queue.
--   `min_receive_count` and `max_receive_count` count receives from all queues.
--   `source_arn` is the queue from which a dead letter came.
--   `shape` is the md5 of body_shape.
--   `cause` is the result of error_cause, or an empty text for messages without an error.
-- The messages are in the order of scan_messages. The last row has a null id, the number of examined messages, and the
-- place after which the scan continues, or null at the end. Takes no lock.
create or replace function queue.find_messages(
    p_queue_id int, p_filter jsonb, p_now timestamptz, p_after text, p_limit int, p_scan int,
    p_bytes bigint default null, p_shapes boolean default false, p_seconds float8 default 2)
returns table (shard int, id bigint, group_id text, receive_count int, total_receive_count int, message_id uuid,
    sent_at timestamptz, entered_at timestamptz, visible_at timestamptz, state text, body text, attributes jsonb,
    system jsonb, looked_at int, next text, shape text)
language plpgsql stable as $$
#variable_conflict use_column
declare
    -- This is the number of messages that the function reads at a time.
    c_part constant int := 1000;
    -- A scan ends after 64 MiB of bodies.
    c_scan_bytes constant bigint := 67108864;
    v_states jsonb := p_filter -> 'states';
    v_text text := p_filter ->> 'text';
    v_path text[] := case when p_filter ? 'json'
        then array(select jsonb_array_elements_text(p_filter #> '{json,path}')) end;
    v_equals jsonb := p_filter #> '{json,equals}';
    v_name text := p_filter #>> '{attribute,name}';
    v_value text := p_filter #>> '{attribute,equals}';
    v_group text := p_filter ->> 'group_id';
    v_before timestamptz := p_now - coalesce((p_filter ->> 'older_than_seconds')::float8, 0) * interval '1 second';
    v_since timestamptz := p_now - (p_filter ->> 'newer_than_seconds')::float8 * interval '1 second';
    v_least int := (p_filter ->> 'min_receive_count')::int;
    v_max int := (p_filter ->> 'max_receive_count')::int;
    v_source text := p_filter ->> 'source_arn';
    v_shape text := p_filter ->> 'shape';
    v_cause text := p_filter ->> 'cause';
    v_looked_at int := 0;
    v_found int := 0;
    v_bytes bigint := 0;
    v_scan_bytes bigint := 0;
    v_next text := p_after;
    v_deadline timestamptz := clock_timestamp() + p_seconds * interval '1 second';
    v_is_over boolean;
    v_ask int;
    v_seen int;
    m record;
begin
    loop
        -- Read the next part
        v_ask := least(c_part, p_scan - v_looked_at);
        v_seen := 0;
        for m in select * from queue.scan_messages(p_queue_id, v_next, v_ask) loop
            v_seen := v_seen + 1;
            v_looked_at := v_looked_at + 1;
            v_scan_bytes := v_scan_bytes + octet_length(m.body);
            v_next := m.shard || ':' || m.id || ':'
                || case when m.shard = queue.fifo_shard() then m.group_id else '' end;
            state := queue.message_state(m.visible_at, m.receive_count);
            shape := case when p_shapes or v_shape is not null then md5(queue.body_shape(m.body)) end;
            total_receive_count := m.receive_count + coalesce((m.system ->> 'ApproximateReceiveCount')::int, 0);
            if m.entered_at <= v_before and (v_since is null or m.entered_at >= v_since)
                and (v_states is null or v_states ? state)
                and (v_group is null or m.group_id = v_group)
                and (v_least is null or total_receive_count >= v_least)
                and (v_max is null or total_receive_count <= v_max)
                and (v_source is null or m.system ->> 'DeadLetterQueueSourceArn' = v_source)
                and (v_name is null or case when v_value is null then m.attributes ? v_name
                    else m.attributes #>> array[v_name, 'StringValue'] = v_value end)
                and (v_cause is null or coalesce(queue.error_cause(m.attributes), '') = v_cause)
                and (v_text is null or position(v_text in m.body) > 0)
                and (v_path is null or queue.as_json(m.body) #> v_path = v_equals)
                and (v_shape is null or shape = v_shape)
            then
                shard := m.shard; id := m.id; group_id := m.group_id; receive_count := m.receive_count;
                message_id := m.message_id; sent_at := m.sent_at; entered_at := m.entered_at;
                visible_at := m.visible_at;
                body := m.body; attributes := m.attributes; system := m.system;
                return next;
                v_found := v_found + 1;
                v_bytes := v_bytes + octet_length(m.body) + queue.json_bytes(m.attributes);
            end if;
            v_is_over := v_found >= p_limit or v_bytes >= p_bytes or v_scan_bytes >= c_scan_bytes
                or v_looked_at >= p_scan or clock_timestamp() >= v_deadline;
            exit when v_is_over;
        end loop;
        -- The end of the scan
        if coalesce(v_is_over, v_looked_at >= p_scan) then
            exit;
        elsif v_seen < v_ask then
            v_next := null;
            exit;
        end if;
    end loop;
    if v_next is not null and not exists (select from queue.scan_messages(p_queue_id, v_next, 1)) then
        v_next := null;
    end if;
    -- The last row
    return query select null::int, null::bigint, null::text, null::int, null::int, null::uuid, null::timestamptz,
        null::timestamptz, null::timestamptz, null::text, null::text, null::jsonb, null::jsonb,
        v_looked_at, v_next, null::text;
end $$;
