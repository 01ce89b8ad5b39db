-- queue.transact: acknowledges, sends and publishes messages. The function performs all of these actions, or none of
-- them. The first parameters are those of delete_messages. The parameters of send_messages follow, and then arrays with
-- an element for each event (publish_events). All events share the trace header. The parameters are arrays, because
-- both drivers send an array without converting each body to JSON or to the text of a composite value. Passes the
-- arrays to delete_messages and send_messages unchanged. Callers name the parameters of events, because later releases
-- can add parameters of messages. A message with a delay of more than 900 seconds waits as in send_later.
--   The kind `send` means a message, with its id.
--   The kind `schedule` means a message that waits as the schedule in `detail`.
--   The kind `publish` means a queue that an event reached. In the row without an ARN, the id is the number of URLs.
-- After an error, the function does nothing and returns one row. Its error is StaleReceipt (`n` is the handle), an
-- error of a message (`n` and `detail` as in send_messages), or RequestThrottled. Takes the locks of delete_messages,
-- then of send_messages.
create or replace function queue.transact(
    p_queue_ids int[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts int[],
    p_nonces int[], p_receipt_message_ids uuid[],
    p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_attributes jsonb[], p_system jsonb[],
    p_delays int[], p_groups text[], p_deduplication_ids text[],
    p_account_id text default null, p_region text default null, p_keys text[] default null,
    p_event_bodies text[] default null, p_event_attributes jsonb[] default null, p_event_headers jsonb[] default null,
    p_event_facts jsonb[] default null, p_event_delays int[] default null, p_trace text default null)
returns table (kind text, n int, arn text, id bigint, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_bad record;
    v_sent jsonb;
    v_published jsonb := '[]';
    v_number text;
begin
    -- The setting makes notify_watchers notify every process, even this process.
    perform set_config('queue.watcher', '', true);
    begin
        -- Acknowledge
        select min(d.n) as n into v_bad
        from queue.delete_messages(
            p_queue_ids => p_queue_ids, p_shards => p_shards, p_positions => p_positions, p_ids => p_ids,
            p_receive_counts => p_receive_counts, p_nonces => p_nonces, p_message_ids => p_receipt_message_ids) d
        where d.outcome <> 'deleted';
        if v_bad.n is not null then
            raise exception 'StaleReceipt' using errcode = 'QU005', hint = v_bad.n::text;
        end if;
        -- Send
        if 900 < any (p_delays) then
            select jsonb_agg(to_jsonb(s)) into v_sent
            from queue.send_later(p_queues, p_message_ids, p_bodies, p_sizes, p_attributes, p_system, p_delays,
                p_groups, p_deduplication_ids) s;
        else
            select jsonb_agg(to_jsonb(s)) into v_sent
            from queue.send_messages(
                p_queues => p_queues, p_message_ids => p_message_ids, p_bodies => p_bodies, p_sizes => p_sizes,
                p_attributes => p_attributes, p_system => p_system, p_delays => p_delays, p_groups => p_groups,
                p_deduplication_ids => p_deduplication_ids) s;
        end if;
        select s ->> 'n' as n, s ->> 'error' as error, s ->> 'detail' as detail into v_bad
        from jsonb_array_elements(v_sent) s where s ->> 'error' is not null order by (s ->> 'n')::int limit 1;
        if v_bad.error is not null then
            raise exception '%', v_bad.error using errcode = 'QU005', hint = v_bad.n,
                detail = coalesce(v_bad.detail, '');
        end if;
        -- Publish
        for v_event in 1 .. coalesce(cardinality(p_keys), 0) loop
            v_published := v_published || coalesce((
                select jsonb_agg(to_jsonb(e) || jsonb_build_object('n', v_event))
                from queue.publish_events(
                    p_account_id => p_account_id, p_region => p_region, p_routing_key => p_keys[v_event],
                    p_body => p_event_bodies[v_event], p_attributes => p_event_attributes[v_event],
                    p_headers => p_event_headers[v_event], p_facts => p_event_facts[v_event],
                    p_delay => p_event_delays[v_event], p_trace => p_trace) e), '[]');
        end loop;
    exception
        when sqlstate 'QU005' then
            get stacked diagnostics error = message_text, v_number = pg_exception_hint, detail = pg_exception_detail;
            n := v_number::int;
            return next;
            return;
        when sqlstate 'QU009' then
            error := 'RequestThrottled';
            detail := sqlerrm;
            return next;
            return;
    end;
    -- A row for each result
    return query
    select case when s ->> 'schedule' is null then 'send' else 'schedule' end, (s ->> 'n')::int,
        case when s ->> 'schedule' is null then p_queues[(s ->> 'n')::int] end, (s ->> 'id')::bigint, null::text,
        s ->> 'schedule'
    from jsonb_array_elements(v_sent) s
    union all
    select 'publish', (e ->> 'n')::int, e ->> 'arn', (e ->> 'id')::bigint, null, null
    from jsonb_array_elements(v_published) e where e ->> 'error' is null;
end $$;
