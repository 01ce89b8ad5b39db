-- queue.send_batch(name, messages, headers, delay, group_id, deduplication_ids): sends messages inside the caller's
-- transaction; its commit notifies the receivers that wait for the queue. Returns the messages' ids, in order.
-- headers: one JSON object a message, or null. delay in seconds, null: the queue's own. A FIFO queue needs group_id.
-- Raises QU001 (undefined queue), QU003 (a message or parameter that is not allowed). SQL interface.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_name' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.send_batch(text, jsonb[], jsonb[], int, text, text[])'))::text[])
    then
        drop function queue.send_batch(text, jsonb[], jsonb[], int, text, text[]);
    end if;
end $$;
create or replace function queue.send_batch(
    name text, messages jsonb[], headers jsonb[] default null, delay int default null,
    group_id text default null, deduplication_ids text[] default null)
returns setof bigint
language plpgsql as $$
declare
    v_arn text := queue.resolve(name);
    v_count int := cardinality(messages);
    v_row record;
begin
    if delay not between 0 and 900 or coalesce(v_count, 0) = 0 or array_position(messages, null) is not null then
        raise exception 'a delay is 0 to 900 seconds, a batch not empty and a message not null' using errcode = 'QU003';
    end if;
    for v_row in
        select s.* from queue.send_messages(
            array_fill(v_arn, array[v_count]), array(select gen_random_uuid() from unnest(messages)),
            array(select m::text from unnest(messages) with ordinality u(m, n) order by n),
            array(select octet_length(m::text) from unnest(messages) with ordinality u(m, n) order by n),
            array(select queue.as_attributes(h) from unnest(messages, headers) with ordinality u(m, h, n) order by n),
            null,
            case when delay is not null and right(v_arn, 5) <> '.fifo' then array_fill(delay, array[v_count]) end,
            case when group_id is not null then array_fill(group_id, array[v_count]) end,
            coalesce(deduplication_ids, case when right(v_arn, 5) = '.fifo' and not (
                select q.content_based_deduplication from queue.queues q where q.arn = v_arn)
                then array(select gen_random_uuid()::text from unnest(messages)) end)) s
        order by s.n
    loop
        if v_row.error is not null then
            raise exception '%: %', v_row.error, v_row.detail using errcode = 'QU003';
        end if;
        return next v_row.id;
    end loop;
end $$;
