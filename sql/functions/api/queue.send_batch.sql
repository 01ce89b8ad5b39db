-- queue.send_batch(name, messages, headers, delay, group, deduplication ids): sends messages inside the caller's
-- transaction; whoever waits for the queue is told at its commit. Returns their ids, in order.
-- p_headers: one JSON object a message, or null. p_delay in seconds, null: the queue's own. FIFO queues want p_group.
-- Raises QU001 (undefined queue), QU003 (a message or parameter that is not allowed). SQL interface.
create or replace function queue.send_batch(
    p_name text, p_messages jsonb[], p_headers jsonb[] default null, p_delay int default null,
    p_group text default null, p_deduplication_ids text[] default null)
returns setof bigint
language plpgsql as $$
declare
    v_arn text := queue.resolve(p_name);
    v_count int := cardinality(p_messages);
    v_row record;
begin
    if p_delay not between 0 and 900 or coalesce(v_count, 0) = 0 or array_position(p_messages, null) is not null then
        raise exception 'a delay is 0 to 900 seconds, a batch not empty and a message not null' using errcode = 'QU003';
    end if;
    for v_row in
        select s.* from queue.send_messages(
            array_fill(v_arn, array[v_count]), array(select gen_random_uuid() from unnest(p_messages)),
            array(select m::text from unnest(p_messages) with ordinality u(m, n) order by n),
            array(select octet_length(m::text) from unnest(p_messages) with ordinality u(m, n) order by n),
            array(select queue.as_attributes(h) from unnest(p_messages, p_headers) with ordinality u(m, h, n) order by n),
            null,
            case when p_delay is not null and right(v_arn, 5) <> '.fifo' then array_fill(p_delay, array[v_count]) end,
            case when p_group is not null then array_fill(p_group, array[v_count]) end,
            coalesce(p_deduplication_ids, case when right(v_arn, 5) = '.fifo' and not (
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
