-- queue.send_documents: sends messages for queue.send_batch and other functions that applications call. The functions
-- for applications do not call each other, because each sets a search_path and the planner's settings. Setting these
-- values costs 6 µs on PostgreSQL 15 and 4 µs on 18. The parameters, the result and the errors are those of
-- queue.send_batch.
create or replace function queue.send_documents(
    p_name text, p_messages jsonb[], p_headers jsonb[], p_delay int, p_group_id text, p_deduplication_ids text[])
returns setof bigint
language plpgsql as $$
declare
    v_arn text := queue.resolve(p_name);
    v_fifo boolean := queue.is_fifo_name(v_arn);
    v_longest_delay int := case when v_fifo then 0 else 31536000 end;
    v_count int := cardinality(p_messages);
    v_ids uuid[];
    v_bodies text[];
    v_sizes int[];
    v_attributes jsonb[];
    v_row record;
begin
    -- Checks
    if p_delay not between 0 and v_longest_delay or coalesce(v_count, 0) = 0
        or array_position(p_messages, null) is not null then
        raise exception 'a delay is 0 to 31536000 seconds (FIFO: 0), a batch not empty and a message not null'
            using errcode = 'QU003';
    end if;
    -- The arrays for send_messages
    select array_agg(gen_random_uuid()), array_agg(d.body), array_agg(octet_length(d.body)), array_agg(d.attributes)
    into v_ids, v_bodies, v_sizes, v_attributes
    from (
        select u.message::text as body, queue.as_attributes(u.headers) as attributes
        from unnest(p_messages, p_headers) with ordinality u(message, headers, n) order by u.n) d;
    if current_setting('max_prepared_transactions') <> '0' then
        perform queue.guard_prepare();
    end if;
    -- Delays that need a schedule
    if p_delay > 900 then
        for v_row in
            select s.* from queue.send_later(
                p_queues => array_fill(v_arn, array[v_count]), p_message_ids => v_ids, p_bodies => v_bodies,
                p_sizes => v_sizes, p_attributes => v_attributes,
                p_system => case when p_group_id is not null
                    then array_fill(jsonb_build_object('MessageGroupId', p_group_id), array[v_count]) end,
                p_delays => array_fill(p_delay, array[v_count]), p_groups => null, p_deduplication_ids => null) s
        loop
            if v_row.error is not null then
                raise exception '%: %', v_row.error, v_row.detail using errcode = 'QU003';
            end if;
            return next null;
        end loop;
        return;
    end if;
    for v_row in
        select s.* from queue.send_messages(
            p_queues => array_fill(v_arn, array[v_count]), p_message_ids => v_ids, p_bodies => v_bodies,
            p_sizes => v_sizes, p_attributes => v_attributes,
            p_delays => case when p_delay is not null and not v_fifo then array_fill(p_delay, array[v_count]) end,
            p_groups => case when p_group_id is not null then array_fill(p_group_id, array[v_count]) end,
            p_deduplication_ids => coalesce(p_deduplication_ids, case when v_fifo and not (
                select q.content_based_deduplication from queue.queues q where q.arn = v_arn)
                then array(select gen_random_uuid()::text from unnest(p_messages)) end)) s
        order by s.n
    loop
        if v_row.error is not null then
            raise exception '%: %', v_row.error, v_row.detail using errcode = 'QU003';
        end if;
        return next v_row.id;
    end loop;
end $$;
